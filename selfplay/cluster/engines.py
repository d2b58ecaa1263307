"""All engines of a run. On the driver: gives new weights to each engine, also after a restart. On a host: the model as
an episode sees it, whichever engine samples.
"""

import asyncio
import logging
import zlib
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, cast

import ray

from selfplay.agent.model import ModelError, Sample, Sampling, TokenModel
from selfplay.cluster.actor_calls import FAILURES, LOOK_EVERY, ActorAway, ActorLost, all_of, answered, ended
from selfplay.cluster.engine import EngineFacts, NotReady, State
from selfplay.cluster.errors import RESUMES, ClusterError
from selfplay.cluster.weights import Folder, Weights, Writes
from selfplay.errors import SelfplayError

log = logging.getLogger(__name__)
OPEN_SECONDS, ALIVE_SECONDS = 1800.0, 60.0
"""How long an engine may take to open, and to answer that it is alive."""
AWAY_SECONDS = 3600.0
"""How long an engine may take to be placed at first, and how long all engines may be away."""
SAMPLE_SECONDS = 3600.0
"""The time limit of an answer."""
NO_ENGINE = 900.0
"""Seconds for which an episode looks for a ready engine."""


@dataclass
class Engines:
    """The engines, on the driver. `actors`: Ray handles. `weights`: how new weights reach them. An engine that does not
    take them is killed and restarted by Ray: if it hung, it would keep its requests. `failed`: called with an error
    that ends the run between syncs. `synced`: the version of every engine that is not away; `facts`: facts about the
    opened engines."""

    actors: Sequence[Any]
    weights: Weights = field(default_factory=Folder)
    failed: Callable[[Exception], None] = lambda error: None
    synced: int = 0
    restarted: int = 0
    facts: EngineFacts | None = None
    _failures: dict[int, int] = field(default_factory=dict)
    _answered: set[int] = field(default_factory=set)
    _locks: dict[int, asyncio.Lock] = field(default_factory=dict)
    _watches: list[asyncio.Task[None]] = field(default_factory=list)

    async def open(self) -> None:
        """Open every engine. Raises `ModelError`, and `ClusterError` if one keeps dying."""
        await self._some_synced(everyone=True)
        self._watches = [asyncio.create_task(self._watched(number)) for number in range(len(self.actors))]

    async def sync(self, learner: Writes) -> None:
        """Give every engine the learner's weights. One that Ray is restarting gets them when it is back, and samples
        nothing before. Raises `ClusterError` if one keeps failing or all stay away, and the learner's errors."""
        await self.weights.offer(learner)
        await self._given_at_once()
        await self._some_synced()
        self.synced = self.weights.version

    async def close(self) -> None:
        """End the engines, even if they are dead."""
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        await ended(self.actors)

    async def _watched(self, number: int) -> None:
        """Watch one engine for the whole run."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self._synced(number)
            except SelfplayError as error:
                self.failed(error)
                return

    async def _some_synced(self, everyone: bool = False) -> None:
        """Wait until one engine, or every engine, has the current weights."""
        until = asyncio.get_running_loop().time() + AWAY_SECONDS
        while True:
            found = await all_of([self._synced(number) for number in range(len(self.actors))])
            if all(found) if everyone else any(found):
                return
            if asyncio.get_running_loop().time() > until:
                raise ClusterError(
                    f"{found.count(False)} engines have not come back for {AWAY_SECONDS:.0f} s",
                    f"Does the cluster have a node with room for them? {RESUMES}",
                )
            await asyncio.sleep(LOOK_EVERY)

    async def _given_at_once(self) -> None:
        """Give the weights to all open engines together. Failed ones are handled afterwards."""
        free = [number for number in range(len(self.actors)) if not self._lock(number).locked()]
        async with AsyncExitStack() as held:
            for number in free:
                await held.enter_async_context(self._lock(number))
            states = await asyncio.gather(*(self._state(number) for number in free))
            known = zip(free, states, strict=True)
            there = [number for number, state in known if state is not None and self._behind(state)]
            given = await self.weights.give([self.actors[number] for number in there]) if there else []
            for number, failure in zip(there, given, strict=True):
                if failure is not None:
                    await self._anew(number, failure)

    async def _synced(self, number: int) -> bool:
        """Give one engine the current weights, restarting it as often as needed; False if it is away. An engine that
        dies while it opens or takes weights counts as failed."""
        async with self._lock(number):
            while True:
                actor = self.actors[number]
                try:
                    if self._has(await self._asked(number)):
                        self._failures[number] = 0
                        return True
                except ActorAway:
                    return False
                except ActorLost as error:
                    await self._anew(number, error)
                    continue
                try:
                    self.facts = await _opened(actor)
                except ModelError as error:
                    if not self._watches:
                        raise  # the model cannot be opened
                    await self._anew(number, error)
                except ActorLost as error:
                    await self._anew(number, error)
                else:
                    (failure,) = await self.weights.give([actor])
                    if failure is not None:
                        await self._anew(number, failure)

    def _lock(self, number: int) -> asyncio.Lock:
        return self._locks.setdefault(number, asyncio.Lock())

    def _has(self, state: State) -> bool:
        """Whether an engine has the current weights."""
        return state.version is not None and state.version >= self.weights.version

    def _behind(self, state: State) -> bool:
        """Whether an engine is open and only lacks the current weights."""
        return state.version is not None and not self._has(state)

    async def _state(self, number: int) -> State | None:
        """An engine's state; None if it does not answer."""
        try:
            return await self._asked(number)
        except ActorLost:
            return None

    async def _asked(self, number: int) -> State:
        """An engine's state. Raises `ActorLost`."""
        try:
            return cast(State, await answered(self.actors[number].state.remote(), self._patience(number)))
        finally:
            self._answered.add(number)

    def _patience(self, number: int) -> float:
        """How long an engine may be silent. Before its first answer, Ray must find a place for it."""
        return ALIVE_SECONDS if number in self._answered else AWAY_SECONDS

    async def _anew(self, number: int, error: Exception) -> None:
        """Restart a failed engine. Raises `ClusterError` after too many failures."""
        self.restarted += 1
        self._failures[number] = self._failures.get(number, 0) + 1
        log.warning("engine %d: %s; it is restarted", number, error)
        if self._failures[number] >= FAILURES:
            raise ClusterError(f"engine {number} failed {FAILURES} times in a row: {error}", RESUMES) from error
        ray.kill(self.actors[number], no_restart=False)
        await asyncio.sleep(LOOK_EVERY)


async def _opened(actor: Any) -> EngineFacts:
    """Open an engine. Raises `ModelError` for a model that cannot be opened, and `ActorLost`."""
    facts = await answered(actor.open.remote(), OPEN_SECONDS)
    if isinstance(facts, ModelError):
        raise facts
    return cast(EngineFacts, facts)


@dataclass
class RemoteEngine:
    """The engines as one `TokenModel`, on a host. Every episode stays with one engine while it lives, since its cache
    has the conversation's prefix."""

    actors: Sequence[Any]
    name: str
    context: int
    least: int = 0

    def for_episode(self, role: str, episode: str) -> TokenModel:
        """The model for `episode`, a name, in this role."""
        return _EpisodeModel(self, self.name, self.context, role, episode)

    def at_least(self, version: int) -> None:
        """From now on, engines with older weights than this version refuse requests."""
        self.least = max(self.least, version)

    async def sample(
        self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int], role: str = "", episode: str = ""
    ) -> Sample:
        """Tokens after `prompt`, from the episode's engine or the next ready one. Raises `ModelError`."""
        until, turn = asyncio.get_running_loop().time() + NO_ENGINE, zlib.crc32(episode.encode())
        while True:
            actor, why = self.actors[turn % len(self.actors)], "it does not have the current weights"
            try:
                call = actor.sample.remote(tuple(prompt), sampling, tuple(stop), self.least, role, episode)
                found = await answered(call, SAMPLE_SECONDS)
            except ActorLost as error:
                found, why = NotReady(), str(error)
            if isinstance(found, ModelError):
                raise found
            if not isinstance(found, NotReady):
                return cast(Sample, found)
            turn += 1
            if asyncio.get_running_loop().time() > until:
                raise ModelError(f"no engine was ready for {NO_ENGINE:.0f} s: {why}")
            await asyncio.sleep(LOOK_EVERY)

    async def close(self) -> None:
        """The driver closes the engines."""


@dataclass
class _EpisodeModel:
    """One episode's view of the engines."""

    engine: RemoteEngine
    name: str
    context: int
    role: str
    episode: str

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        return await self.engine.sample(prompt, sampling, stop, self.role, self.episode)
