"""How new weights get from the trainer to engines: through a folder that all nodes see, or over the network."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from selfplay.agent.model import ModelError
from selfplay.cluster.actor_calls import ActorLost, answered
from selfplay.cluster.trainer import RemoteLearner
from selfplay.policies.rendezvous import Rendezvous

SYNC_SECONDS = 600.0
"""How long an engine may take to load new weights."""
Given = ModelError | ActorLost | None
"""The error of giving an engine the weights; None on success."""


class Writes(Protocol):
    """The model in training. `version`: how many updates it has taken."""

    @property
    def version(self) -> int: ...

    async def write(self) -> Path | None: ...


class Weights(Protocol):
    """`version`: the lowest version that every engine must have."""

    @property
    def version(self) -> int: ...

    async def offer(self, learner: Writes) -> None:
        """From now on, engines must have the learner's current weights."""
        ...

    async def give(self, actors: Sequence[Any]) -> list[Given]:
        """Give them to these engines at once."""
        ...


@dataclass
class Folder:
    """Weights as files. `path` None: the initial weights."""

    path: str | None = None
    version: int = 0

    async def offer(self, learner: Writes) -> None:
        path = await learner.write()
        self.path, self.version = str(path) if path else None, learner.version if path else 0

    async def give(self, actors: Sequence[Any]) -> list[Given]:
        return list(await asyncio.gather(*(_given(one.reload.remote(self.path, self.version)) for one in actors)))


@dataclass
class Broadcast:
    """Weights over the network, from the trainer's first rank. `processes`: of an engine; `backend`: `gloo` or `nccl`.
    The group is kept while its engines stay the same. Weights are sent while the trainer is idle: a restarted engine
    may have to wait for the end of an update."""

    learner: RemoteLearner
    processes: int
    backend: str
    version: int = 0
    _meeting: Rendezvous | None = None
    _members: list[Any] = field(default_factory=list)

    async def offer(self, learner: Writes) -> None:
        self.version = learner.version

    async def give(self, actors: Sequence[Any]) -> list[Given]:
        if not self.version:
            return list(await asyncio.gather(*(_given(one.reload.remote(None, 0)) for one in actors)))
        async with self.learner.resting:
            facts, version = self.learner.facts, self.learner.version
            try:
                meeting = await self._met(actors)
            except ActorLost as error:
                return [error] * len(actors)
            received = [
                _given(one.receive.remote(meeting, 1 + number * self.processes, facts, version))
                for number, one in enumerate(actors)
            ]
            sending = asyncio.ensure_future(self.learner.send(meeting))
            found = list(await asyncio.gather(*received))
            if await sending is not None or any(found):
                self._meeting = None  # some of its members are gone
            return found

    async def _met(self, actors: Sequence[Any]) -> Rendezvous:
        """These engines' meeting: the present one, or a new one. Raises `ActorLost`."""
        states = await asyncio.gather(*(answered(one.state.remote(), SYNC_SECONDS) for one in actors))
        known = self._meeting
        if known is None or self._members != list(actors) or any(state.met != known.name for state in states):
            host, port = await self.learner.meeting_place()
            ranks = 1 + len(actors) * self.processes
            self._meeting = Rendezvous(uuid.uuid4().hex, host, port, ranks, self.backend)
            self._members = list(actors)
        assert self._meeting is not None
        return self._meeting


async def _given(call: Any) -> Given:
    try:
        found: ModelError | None = await answered(call, SYNC_SECONDS)
    except ActorLost as error:
        return error
    return found
