"""All engines of a run. On the driver: new weights for each, in time, and for each that Ray restarted. On a host: the
model as an episode sees it, whichever engine samples for it.
"""

import asyncio
import logging
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray

from selfplay.agent.model import ModelError, Sample, Sampling, TokenModel
from selfplay.cluster.answers import ActorAway, ActorLost, answered
from selfplay.cluster.engine import Facts
from selfplay.cluster.errors import ClusterError

log = logging.getLogger(__name__)
OPEN_SECONDS, SYNC_SECONDS, ALIVE_SECONDS = 1800.0, 600.0, 60.0
"""How long an engine may take to open, to take new weights, and to say that it lives."""
AWAY_SECONDS = 3600.0
"""How long no engine at all may be there."""
LOOK_EVERY = 1.0
"""Seconds between two looks at every engine."""
FAILURES = 5
"""Failures of one engine in a row that end the run."""
NO_ENGINE = 600.0
"""Seconds for which an episode looks for an engine that answers."""


@dataclass
class Engines:
    """The engines, on the driver. `actors`: Ray handles. An engine that does not take the weights is killed, and Ray
    starts it anew: one that is paused for ever would keep its requests."""

    actors: Sequence[Any]
    folder: str | None = None
    version: int = 0
    restarted: int = 0
    _failed: dict[int, int] = field(default_factory=dict)
    _locks: dict[int, asyncio.Lock] = field(default_factory=dict)
    _watch: asyncio.Task[None] | None = None

    async def open(self) -> Facts:
        """Open every engine; what is known of them. Raises `ModelError`, and `ClusterError` when one keeps dying."""
        await self._some_synced(everyone=True)
        self._watch = asyncio.create_task(self._watched())
        facts = await answered(self.actors[0].open.remote(), OPEN_SECONDS)
        assert isinstance(facts, Facts)
        return facts

    async def reload(self, folder: Path, version: int) -> None:
        """Let every engine sample with these weights. One that Ray is starting again gets them when it is there; until
        then it samples nothing. Raises `ClusterError` when one keeps failing, or all stay away."""
        self.folder, self.version = str(folder), version
        if self._watch is not None and self._watch.done():
            self._watch.result()
        await self._some_synced()

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError, ClusterError):
                await self._watch
        for actor in self.actors:
            with suppress(ActorLost):
                await answered(actor.close.remote(), ALIVE_SECONDS)
            ray.kill(actor)

    async def _watched(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            for number, actor in enumerate(self.actors):
                try:
                    found = await answered(actor.version.remote(), ALIVE_SECONDS)
                except ActorLost:
                    found = None
                if found != self.version:
                    await self._synced(number)

    async def _some_synced(self, everyone: bool = False) -> None:
        """Wait until one engine, or every one, samples with the present weights."""
        until = asyncio.get_running_loop().time() + AWAY_SECONDS
        while True:
            found = await asyncio.gather(*(self._synced(number) for number in range(len(self.actors))))
            if all(found) if everyone else any(found):
                return
            if asyncio.get_running_loop().time() > until:
                raise ClusterError(
                    f"{found.count(False)} engines have not come back for {AWAY_SECONDS:.0f} s",
                    "Has the cluster a node with room for them? The same command resumes the run.",
                )
            await asyncio.sleep(LOOK_EVERY)

    async def _synced(self, number: int) -> bool:
        """Give one engine the present weights, however often it has to be started for that; False for one that is
        away."""
        async with self._locks.setdefault(number, asyncio.Lock()):
            while True:
                version, actor = self.version, self.actors[number]
                try:
                    if await answered(actor.version.remote(), ALIVE_SECONDS) == version:
                        self._failed[number] = 0
                        return True
                    await _told(actor, self.folder, version)
                except ActorAway:
                    return False
                except (ActorLost, _Refused) as error:
                    self._count(number, error)
                    ray.kill(actor, no_restart=False)
                    await asyncio.sleep(LOOK_EVERY)

    def _count(self, number: int, error: Exception) -> None:
        self.restarted += 1
        self._failed[number] = self._failed.get(number, 0) + 1
        log.warning("engine %d: %s; it is started anew", number, error)
        if self._failed[number] >= FAILURES:
            raise ClusterError(
                f"engine {number} failed {FAILURES} times in a row: {error}", "The same command resumes the run."
            ) from error


class _Refused(Exception):
    """An engine that did not take the weights: which ones it has now is not known."""


async def _told(actor: Any, folder: str | None, version: int) -> None:
    """Open an engine and give it the weights. Raises `ModelError` for a model that cannot be opened at all."""
    facts = await answered(actor.open.remote(), OPEN_SECONDS)
    if isinstance(facts, ModelError):
        raise facts
    refused = await answered(actor.reload.remote(folder, version), SYNC_SECONDS)
    if refused is not None:
        raise _Refused(str(refused))


@dataclass
class RemoteEngine:
    """The engines as one `TokenModel`, on a host. Every episode stays with one of them while that lives: its cache has
    the conversation's prefix."""

    actors: Sequence[Any]
    name: str
    context: int

    def session(self, name: str) -> TokenModel:
        """The model for the episode of this name."""
        return _Session(self, self.name, self.context, zlib.crc32(name.encode()))

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int], first: int = 0) -> Sample:
        """Tokens after `prompt`, by engine `first` or the next one that answers. Raises `ModelError`."""
        until, turn = asyncio.get_running_loop().time() + NO_ENGINE, first
        while True:
            actor = self.actors[turn % len(self.actors)]
            try:
                found = await answered(actor.sample.remote(tuple(prompt), sampling, tuple(stop)), None)
            except ActorLost as error:
                turn += 1
                if asyncio.get_running_loop().time() > until:
                    raise ModelError(f"no engine has answered for {NO_ENGINE:.0f} s: {error}") from error
                await asyncio.sleep(LOOK_EVERY)
                continue
            if isinstance(found, ModelError):
                raise found
            assert isinstance(found, Sample)
            return found

    async def close(self) -> None:
        """The driver closes the engines."""


@dataclass
class _Session:
    """One episode's view of the engines."""

    engine: RemoteEngine
    name: str
    context: int
    first: int

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        return await self.engine.sample(prompt, sampling, stop, self.first)
