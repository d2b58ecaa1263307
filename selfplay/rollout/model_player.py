"""Players that are language models: one model for every role and episode of a run, behind text or token ids."""

import asyncio
import contextlib
import copy
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from selfplay.agent import EpisodeLimits, Policy
from selfplay.agent.chat_conversation import ChatConversation
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.conversation import Conversation, Style, TokenConversation
from selfplay.agent.model import Message, MessageCount, ModelError, Sampling, TextModel, TokenModel
from selfplay.agent.toolset import OBSERVATION_CHARS
from selfplay.formatting import Say, count
from selfplay.policies.option_types import Amount, Count, Seconds, Share
from selfplay.policies.rendezvous import Fact, Rendezvous
from selfplay.roles.role import Role

T = TypeVar("T")
FIRST_REPORT, SLOWEST_REPORT = 20.0, 600.0
"""Seconds between two progress reports on the number of messages: the first interval, and the longest."""


@dataclass(frozen=True)
class PlayOptions:
    """How a model plays. `episodes`: how many at a time; `tools`: the textual call format or the endpoint's native
    calls; `staged`: the injector plays in three stages, each in its own conversation; `calls` and `seconds` limit one
    episode; `max_tokens` limits one message, `observation_chars` one observation. `seeded`: every message is sampled
    with its own seed, fixed by the run's seed, the episode and the turn. None means: only for models in process,
    since endpoints may refuse a seed, and not for vLLM on CPU, whose requests cannot carry one. There only the
    engine's own seed (`engine_seed`) exists, which fixes the messages only while one episode plays at a time, and
    `seeded=true` is refused."""

    episodes: Count = 8
    tools: Literal["text", "native"] = "text"
    staged: bool = False
    calls: Count = EpisodeLimits.calls
    seconds: Seconds = EpisodeLimits.seconds
    temperature: Amount = 1.0
    top_p: Share = 1.0
    max_tokens: Count | None = None
    observation_chars: Count = OBSERVATION_CHARS
    seeded: bool | None = None

    def style(self, episode: str) -> Style:
        """How the model is prompted in `episode`, a name that is unique in the run."""
        seed = zlib.crc32(episode.encode()) if self.seeded else None
        sampling = Sampling(self.temperature, self.top_p, self.max_tokens, seed)
        return Style(sampling, self.tools == "native", self.observation_chars)


class Closable(Protocol):
    """Something that holds connections, memory or processes."""

    async def close(self) -> None:
        """Free it."""
        ...


class TextEngine(TextModel, Closable, Protocol):
    """A text model that can be closed."""


class TokenEngine(TokenModel, Closable, Protocol):
    """A token model that can be closed."""


@runtime_checkable
class Reloadable(Protocol):
    """An engine that takes new weights while it runs."""

    async def reload(self, folder: str, version: int) -> None:
        """Load the weights in `folder`; later samples have this version. Raises `ModelError`."""
        ...


@runtime_checkable
class Receiving(Protocol):
    """An engine that takes new weights from the trainer over the network."""

    async def receive(self, meeting: Rendezvous, first: int, facts: Sequence[Fact], version: int) -> None:
        """Load the weights that rank 0 of the group of `meeting` sends; the engine's processes have the ranks from
        `first` on. Raises `ModelError`."""
        ...


@runtime_checkable
class PerEpisodeModel(Protocol):
    """An engine that depends on the episode: it uses one of several places, whose cache has the episode's prefix, or
    the adapter of its role."""

    def for_episode(self, role: str, episode: str) -> TokenModel:
        """The model for `episode`, a name, in this role."""
        ...


@dataclass(frozen=True)
class TextSide:
    """An opened model that takes messages."""

    engine: TextEngine


@dataclass(frozen=True)
class TokenSide:
    """An opened model that takes token ids and uses its own chat template. `seeded`: each message has its own seed."""

    engine: TokenEngine
    chat: ChatFormat
    seeded: bool = True


Opened = TextSide | TokenSide


class ModelPlayer:
    """Plays every role with one model. Lives on the event loop that called `open`."""

    def __init__(
        self,
        name: str,
        open_model: Callable[[], Awaitable[Opened]],
        options: PlayOptions,
        engine: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """`engine`: the engine settings that change what the model generates."""
        self.name, self.options = name, options
        self.episodes = options.episodes
        self.limits = EpisodeLimits(options.calls, options.seconds)
        played = {name: value for name, value in asdict(options).items() if name != "episodes"}
        self.settings: Mapping[str, Any] = {**played, **engine}
        self._open = open_model
        self._opened: Opened | None = None
        self._count = MessageCount()
        self._report: asyncio.Task[None] | None = None

    @property
    def opener(self) -> Callable[[], Awaitable[Opened]]:
        """The function that opens the model, in this process or another."""
        return self._open

    def elsewhere(self, open_model: Callable[[], Awaitable[Opened]]) -> "ModelPlayer":
        """The same player, with its model opened by `open_model`."""
        found = copy.copy(self)
        found._open, found._count = open_model, MessageCount()
        return found

    async def open(self, say: Say = lambda line: None) -> None:
        """Open the model and start reporting its progress. Raises `ModelError`."""
        say(f"opening {self.name}")
        self._opened = await self._open()
        if isinstance(self._opened, TokenSide):
            self.options = replace(self.options, seeded=self._opened.seeded)
        self._report = asyncio.create_task(report(self._count, say))

    def policy(self, role: Role[T], task: T) -> Policy:
        """The policy of one episode. The player must be open."""
        style = self.options.style(role.key(task))

        def converse(told: tuple[Message, ...]) -> Conversation:
            return self._conversation(role, told, style, role.key(task))

        if role.staged and self.options.staged:
            return role.staged(task, self.name, converse, role.toolset, style.native)
        return converse(role.opening(task, style.native))

    def _conversation(self, role: Role[T], told: tuple[Message, ...], style: Style, episode: str) -> Conversation:
        match self._opened:
            case TextSide(engine):
                return ChatConversation(
                    engine, self.name, role.name, told, style, toolset=role.toolset, count=self._count
                )
            case TokenSide(engine, chat):
                model = engine.for_episode(role.name, episode) if isinstance(engine, PerEpisodeModel) else engine
                return TokenConversation(model, chat, role.name, told, style, toolset=role.toolset, count=self._count)
        raise RuntimeError(f"{self.name} is not open")

    async def reload(self, folder: Path, version: int) -> None:
        """Continue with the weights in `folder`, under this version. Raises `ModelError`; the model must be open."""
        if not isinstance(self._opened, TokenSide) or not isinstance(self._opened.engine, Reloadable):
            raise ModelError(f"{self.name} cannot take new weights", "Train with vllm: or transformers:.")
        await self._opened.engine.reload(str(folder), version)

    async def close(self) -> None:
        """Stop the reports and free the model."""
        if self._report is not None:
            self._report.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._report
        if self._opened is not None:
            await self._opened.engine.close()
        self._opened = self._report = None


async def report(counted: MessageCount, say: Say, first: float = FIRST_REPORT) -> None:
    """Report that a model is at work, since results may take an hour: after `first` seconds, then less and less
    often."""
    seconds = first
    while True:
        await asyncio.sleep(seconds)
        if counted.awaited:
            say(f"the model gave {count(counted.given, 'message')} so far, {counted.awaited} more are awaited")
            seconds = min(2 * seconds, SLOWEST_REPORT)
