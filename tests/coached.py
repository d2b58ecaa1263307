"""A small model that is told in some episodes what to say: its own probabilities of a strong model's words.

A model of 135M parameters repairs nothing by itself, so all that it plays earns the same. Coached in some episodes and
free in others, it plays real runs of both roles with mixed rewards; bugs, checks, grades and log-probabilities are
real.
"""

import asyncio
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, DynamicCache

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import ModelError, Sample, Sampling
from selfplay.policies.broadcast import WeightGroup, joined
from selfplay.policies.rendezvous import Fact, Rendezvous
from selfplay.policies.tokenizer import load_tokenizer
from selfplay.rollout.model_player import ModelPlayer, PlayOptions, TokenSide

Lines = Sequence[str] | None
"""What the model is told to say in an episode, message by message; None: it is free."""


class Coached:
    """A `TokenModel` for one episode at a time. `plans`: what stands in a role's prompt -> its episodes' lines. What
    two prompts have in common is computed once."""

    def __init__(self, model: Any, chat: ChatFormat, plans: Mapping[str, Iterable[Lines]], context: int) -> None:
        self.name, self.context, self._model, self._chat = "coached", context, model, chat
        self._plans = {key: iter(plan) for key, plan in plans.items()}
        self.version = 0
        self._forget()
        self._tape: list[int] = []
        self._lines: deque[str] | None = None

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        if not self._tape or list(prompt[: len(self._tape)]) != self._tape:  # an episode begins
            told = self._chat.tokenizer.decode(prompt)
            lines = next(next(plan for key, plan in self._plans.items() if key in told))
            self._lines = None if lines is None else deque(lines)
        if self._lines is None:
            ids, logprobs = self._drawn(list(prompt), sampling, stop)
        else:
            ids = self._chat.answer_ids(self._lines.popleft())
            values = self._next(list(prompt), ids[:-1])
            logprobs = values.gather(1, torch.tensor(ids)[:, None]).squeeze(1).tolist()
        self._tape = [*prompt, *ids]
        versions = (self.version, self.version)
        return Sample(tuple(ids), tuple(logprobs), ids[-1] not in stop, tuple(prompt), versions)

    def _drawn(self, prompt: list[int], sampling: Sampling, stop: Sequence[int]) -> tuple[list[int], list[float]]:
        dice = torch.Generator().manual_seed(sampling.seed or 0)
        ids, logprobs = list[int](), list[float]()
        while len(ids) < (sampling.max_tokens or 1) and not (ids and ids[-1] in stop):
            values = self._next([*prompt, *ids], [])[0]
            ids.append(int(torch.multinomial(values.exp(), 1, generator=dice)))
            logprobs.append(float(values[ids[-1]]))
        return ids, logprobs

    def _next(self, before: list[int], more: list[int]) -> torch.Tensor:
        """log p of every token after `before`, and after each of `more`."""
        ids, pairs = [*before, *more], zip(self._seen, before[:-1], strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if same < len(self._seen):
            self._cache.crop(same - len(self._seen))
        with torch.inference_mode():
            out = self._model(torch.tensor([ids[same:]]), past_key_values=self._cache, logits_to_keep=len(more) + 1)
        self._seen = ids
        return out.logits[0].float().log_softmax(-1)

    def _forget(self) -> None:
        self._cache, self._seen = DynamicCache(config=self._model.config), list[int]()

    async def reload(self, folder: str, version: int) -> None:
        """Take the weights in `folder`: what was cached is of the old ones."""
        found = load_file(Path(folder) / "model.safetensors")
        self._model.load_state_dict(found, strict=False)  # a tied head stands there once
        self.version = version
        self._forget()

    async def close(self) -> None:
        """There is nothing to free."""


def coached_player(path: Path, plans: Mapping[str, Iterable[Lines]], most: int = 16) -> ModelPlayer:
    """A player of one episode at a time; each makes two calls; free messages have at most `most` tokens."""

    async def opened() -> TokenSide:
        torch.set_num_threads(1)  # on a busy machine threads that wait for each other are ten times as slow
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        chat = ChatFormat(load_tokenizer(str(path)))
        return TokenSide(Coached(model, chat, plans, 4096), chat)

    return ModelPlayer("coached:m", opened, PlayOptions(episodes=1, calls=2, max_tokens=most))


class CoachedByRole:
    """Two coached models, each with the weights of its role: what an engine with an adapter for each samples."""

    def __init__(self, of_roles: Mapping[str, "Coached | CoachedBySeed"]) -> None:
        self.name, self.context, self._of_roles = "coached", 4096, of_roles

    def for_episode(self, role: str, episode: str) -> "Coached | CoachedBySeed":
        return self._of_roles[role]

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        raise ModelError("it samples a role, and was not told which")

    async def reload(self, folder: str, version: int) -> None:
        """Take the weights of each role in its own folder."""
        for role, one in self._of_roles.items():
            await one.reload(str(Path(folder) / role), version)

    async def close(self) -> None:
        """There is nothing to free."""


def coached_by_role(path: Path, plans: Mapping[str, Iterable[Lines]], most: int = 16) -> ModelPlayer:
    """As `coached_player`, with a model for each role."""
    return _of_each_role(path, lambda model, chat: Coached(model, chat, plans, 4096), 1, most)


def _of_each_role(
    path: Path, coach: Callable[[Any, ChatFormat], "Coached | CoachedBySeed"], episodes: int, most: int
) -> ModelPlayer:
    async def opened() -> TokenSide:
        torch.set_num_threads(1)
        chat = ChatFormat(load_tokenizer(str(path)))
        models = {
            role: AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
            for role in ("injector", "solver")
        }
        return TokenSide(CoachedByRole({role: coach(one, chat) for role, one in models.items()}), chat)

    return ModelPlayer("coached:m", opened, PlayOptions(episodes=episodes, calls=2, max_tokens=most))


class CoachedBySeed:
    """A `TokenModel` without memory: half of the episodes, by their seeds, are told what to say. So an episode that is
    played again, by this process or another, is the same. `lines`: what stands in a role's prompt -> its messages."""

    def __init__(self, model: Any, chat: ChatFormat, lines: Mapping[str, Sequence[str]], context: int) -> None:
        self.name, self.context, self.version = "coached", context, 0
        self._model, self._chat, self._lines = model, chat, lines
        self._turn = asyncio.Lock()
        self._group: WeightGroup | None = None

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        async with self._turn:
            version = self.version
            ids, logprobs = await asyncio.to_thread(self._sampled, list(prompt), sampling, stop)
            return Sample(tuple(ids), tuple(logprobs), ids[-1] not in stop, tuple(prompt), (version, version))

    def _sampled(self, prompt: list[int], sampling: Sampling, stop: Sequence[int]) -> tuple[list[int], list[float]]:
        told, dice = self._chat.tokenizer.decode(prompt), torch.Generator().manual_seed(sampling.seed or 0)
        said = told.count("<|im_start|>assistant") - 1
        if zlib.crc32(str((sampling.seed or 0) - said).encode()) % 2:  # each message has the next seed
            lines = next(lines for key, lines in self._lines.items() if key in told)
            ids = self._chat.answer_ids(lines[min(said, len(lines) - 1)])
            values = self._logprobs([*prompt, *ids[:-1]], len(ids))
            return ids, values.gather(1, torch.tensor(ids)[:, None]).squeeze(1).tolist()
        ids, logprobs = list[int](), list[float]()
        while len(ids) < (sampling.max_tokens or 1) and not (ids and ids[-1] in stop):
            values = self._logprobs([*prompt, *ids], 1)[0]
            ids.append(int(torch.multinomial(values.exp(), 1, generator=dice)))
            logprobs.append(float(values[ids[-1]]))
        return ids, logprobs

    def _logprobs(self, ids: list[int], last: int) -> torch.Tensor:
        """log p of the token after each of the `last` ids."""
        with torch.inference_mode():
            return self._model(torch.tensor([ids]), logits_to_keep=last).logits[0].float().log_softmax(-1)

    async def reload(self, folder: str, version: int) -> None:
        """Take the weights in `folder`."""
        async with self._turn:
            self._model.load_state_dict(load_file(Path(folder) / "model.safetensors"), strict=False)
            self.version = version

    async def receive(self, meeting: Rendezvous, first: int, facts: Sequence[Fact], version: int) -> None:
        """Take the weights that the trainer sends."""
        async with self._turn:
            try:
                found = await asyncio.to_thread(self._received, meeting, first, facts)
            except RuntimeError as error:
                raise ModelError(str(error)) from error
            self._model.load_state_dict(found, strict=False)
            self.version = version

    def _received(self, meeting: Rendezvous, rank: int, facts: Sequence[Fact]) -> dict[str, torch.Tensor]:
        self._group = joined(self._group, meeting, rank, "cpu")
        return dict(self._group.received(facts))

    async def close(self) -> None:
        """There is nothing to free."""


def coached_by_seed(path: Path, lines: Mapping[str, Sequence[str]], most: int = 4) -> ModelPlayer:
    """A player of several episodes at a time, half of them coached."""

    async def opened() -> TokenSide:
        torch.set_num_threads(1)
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        chat = ChatFormat(load_tokenizer(str(path)))
        return TokenSide(CoachedBySeed(model, chat, lines, 4096), chat)

    return ModelPlayer("coached:m", opened, PlayOptions(episodes=2, calls=2, max_tokens=most))


def coached_by_role_and_seed(path: Path, lines: Mapping[str, Sequence[str]], most: int = 4) -> ModelPlayer:
    """As `coached_by_seed`, with a model for each role."""
    return _of_each_role(path, lambda model, chat: CoachedBySeed(model, chat, lines, 4096), 2, most)
