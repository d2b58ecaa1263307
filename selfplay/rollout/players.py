"""The registry of players. A player gives every episode of a run its policy; `--policy` takes its name."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from selfplay.agent import EpisodeLimits, Policy
from selfplay.agent.model import ModelError
from selfplay.errors import SelfplayError
from selfplay.formatting import Say
from selfplay.options import read_options
from selfplay.roles.role import Role

log = logging.getLogger(__name__)
T = TypeVar("T")


class UnknownPolicy(SelfplayError):
    """A `--policy`, or an option of one, that does not exist."""


class Player(Protocol):
    """One object for a whole run, shared by its episodes; each episode gets its own policy.

    `limits`: what each episode may use. `episodes`: how many it prefers to play at a time, 0 for one per worker.
    `settings`: plain values that fix how it plays; resuming a run with other settings would mix two policies.
    """

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def limits(self) -> EpisodeLimits: ...

    @property
    def episodes(self) -> int: ...

    async def open(self, say: Say) -> None:
        """Make sure that it can play, and from now on report long operations. Raises `SelfplayError`."""
        ...

    def policy(self, role: Role[T], task: T) -> Policy:
        """The policy that plays one episode of `role`. The player must be open."""
        ...

    async def close(self) -> None:
        """Free what it holds."""
        ...


SCRIPTED = ("scripted", "search", "naive")


def player_named(name: str, options: Mapping[str, str] | None = None) -> Player:
    """The player of this name: `scripted`, or `KIND:MODEL` with `options` by name. Raises `UnknownPolicy`."""
    options = options or {}
    if name in SCRIPTED:
        return _scripted(name, options)
    kind, _, model = name.partition(":")
    if kind not in KINDS or not model:
        known = ", ".join([*SCRIPTED, *(f"{kind}:MODEL" for kind in KINDS)])
        raise UnknownPolicy(f"there is no policy {name!r}", f"The policies are: {known}.")
    return KINDS[kind](model, options)


def _scripted(name: str, options: Mapping[str, str]) -> Player:
    if options:
        raise UnknownPolicy(f"the policy {name} takes no options, not {', '.join(options)}")
    from selfplay.rollout.scripted_player import ScriptedPlayer

    return ScriptedPlayer(name)


def _endpoint(model: str, options: Mapping[str, str]) -> Player:
    from selfplay.policies.tokenizer import imported

    imported("openai", "openai")
    from selfplay.policies.endpoint import Endpoint, EndpointOptions
    from selfplay.rollout.model_player import ModelPlayer, PlayOptions, TextSide

    play, how = read_options(options, PlayOptions, EndpointOptions, refusal=UnknownPolicy)

    async def open_model() -> TextSide:
        endpoint = Endpoint(model, how)
        await endpoint.check()
        return TextSide(endpoint)

    return ModelPlayer(f"openai:{model}", open_model, play)


def _vllm(model: str, options: Mapping[str, str]) -> Player:
    from selfplay.policies.vllm_engine import VllmModel, why_no_seeds
    from selfplay.policies.vllm_options import VllmOptions

    return _in_process("vllm", model, options, VllmOptions, VllmModel.open, why_no_seeds)


def _transformers(model: str, options: Mapping[str, str]) -> Player:
    from selfplay.policies.transformers_model import TransformersModel, TransformersOptions

    return _in_process("transformers", model, options, TransformersOptions, TransformersModel.open)


def _in_process(
    kind: str,
    model: str,
    options: Mapping[str, str],
    how: type[Any],
    load: Callable[[str, Any], Awaitable[Any]],
    why_no_seeds: Callable[[], str] | None = None,
) -> Player:
    """A player with a model in this process, which takes token ids. `why_no_seeds` is called when the model is opened
    and returns why requests cannot carry a seed, or an empty text; None if they always can."""
    from selfplay.agent.chat_format import ChatFormat
    from selfplay.policies.tokenizer import load_tokenizer
    from selfplay.rollout.model_player import ModelPlayer, PlayOptions, TokenSide

    play, wanted = read_options(options, PlayOptions, how, refusal=UnknownPolicy)
    if play.tools == "native":
        raise UnknownPolicy(f"{kind}: has no native tool calls", "Leave the option tools out, or use openai:MODEL.")

    if why_no_seeds is None:
        play = replace(play, seeded=_seeded(play.seeded, ""))

    async def open_model() -> TokenSide:
        seeded = _seeded(play.seeded, why_no_seeds() if why_no_seeds else "")  # fails before the weights load
        chat = ChatFormat(load_tokenizer(model))
        return TokenSide(await load(model, wanted), chat, seeded)

    engine = {"dtype": wanted.dtype, "context": wanted.context}
    return ModelPlayer(f"{kind}:{model}", open_model, play, engine)


def _seeded(wanted: bool | None, why_not: str) -> bool:
    """Whether each message is sampled with its own seed. Raises `ModelError` when that is asked for but impossible."""
    if wanted and why_not:
        raise ModelError(f"seeded=true cannot be kept: {why_not}", "Leave it out: the engine has a seed (engine_seed).")
    if wanted is None and why_not:
        log.warning("messages are not seeded one by one, the engine is (engine_seed): %s", why_not)
    return not why_not if wanted is None else wanted


KINDS: dict[str, Callable[[str, Mapping[str, str]], Player]] = {
    "openai": _endpoint,
    "vllm": _vllm,
    "transformers": _transformers,
}
