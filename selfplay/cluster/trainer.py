"""The trainer as Ray actors, one per rank. The caller defines what is trained; this module starts ranks and waits."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import ray

from selfplay.cluster.actor_calls import FAILURES, LOOK_EVERY, ActorLost, all_of, answered
from selfplay.cluster.errors import ClusterError
from selfplay.errors import SelfplayError
from selfplay.policies.rendezvous import Fact, Rendezvous
from selfplay.subprocesses import stand
from selfplay.update.batch.crediting import Credited
from selfplay.update.batch.figures import UpdateFigures

log = logging.getLogger(__name__)
OPEN_SECONDS, LEARN_SECONDS, SEND_SECONDS = 3600.0, 6 * 3600.0, 600.0
MEMORY = "Is there enough memory? `--plan` shows what it needs. The same command resumes."


class RayLearner(Protocol):
    """The model in training, on one rank."""

    @property
    def version(self) -> int: ...

    def learn(self, rollouts: Sequence[Credited], step: int) -> UpdateFigures: ...

    def write(self) -> Path | None: ...

    def facts(self) -> list[Fact]: ...

    def send(self, meeting: Rendezvous) -> str | None: ...


class RankActor:
    """One rank. Errors that a user can mend are returned."""

    def __init__(self, folder: str, rank: int, ranks: int, threads: int | None) -> None:
        """`folder`: where the driver stands."""
        stand(folder)
        self._rank, self._ranks, self._threads = rank, ranks, threads
        self._learner: RayLearner | None = None

    def meeting_place(self) -> tuple[str, int]:
        """An address of this machine where the ranks can meet."""
        with socket.socket() as free:
            free.bind(("", 0))
            return ray.util.get_node_ip_address(), int(free.getsockname()[1])

    def open(self, make: Callable[[], RayLearner], meeting: tuple[str, int]) -> int | SelfplayError:
        """Join the other ranks and load the model; returns its version."""
        import torch
        import torch.distributed as dist

        if self._threads is not None:
            torch.set_num_threads(self._threads)
        if self._ranks > 1:
            place = f"tcp://{meeting[0]}:{meeting[1]}"
            kind = "nccl" if torch.cuda.is_available() else "gloo"
            dist.init_process_group(kind, init_method=place, rank=self._rank, world_size=self._ranks)
        try:
            self._learner = make()
        except SelfplayError as error:
            return error
        return self._learner.version

    def learn(self, rollouts: Sequence[Credited], step: int) -> tuple[UpdateFigures, int] | SelfplayError:
        """Take an update; returns its figures and the new version."""
        assert self._learner is not None
        try:
            return self._learner.learn(rollouts, step), self._learner.version
        except SelfplayError as error:
            return error

    def write(self) -> Path | SelfplayError | None:
        assert self._learner is not None
        try:
            return self._learner.write()
        except SelfplayError as error:
            return error

    def facts(self) -> list[Fact]:
        """The tensors that `send` will send."""
        assert self._learner is not None
        return self._learner.facts()

    def send(self, meeting: Rendezvous) -> str | None:
        """Send the weights to the engines of a group. Returns the error, or None."""
        assert self._learner is not None
        return self._learner.send(meeting)


@dataclass
class RemoteLearner:
    """All ranks, on the driver. `start` makes their actors, `make` each rank's learner, which resumes from the newest
    checkpoint: a step that was updated before the trainer died is not updated again. `facts`: the tensors that it
    sends; `resting`: a lock for calls to the ranks."""

    start: Callable[[int], Any]
    make: Callable[[], RayLearner]
    ranks: int
    version: int = 0
    restarted: int = 0
    facts: list[Fact] = field(default_factory=list)
    resting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _actors: list[Any] = field(default_factory=list)

    async def open(self) -> None:
        """Start the ranks, again if one dies meanwhile. Raises the learner's errors, and `ClusterError`."""
        for left in range(FAILURES - 1, -1, -1):
            try:
                versions = await self._opened()
                break
            except ActorLost as error:
                log.warning("the trainer was lost while it started: %s", error)
                await self.close()
                if not left:
                    raise ClusterError(f"the trainer cannot be started: {error}", MEMORY) from error
                await asyncio.sleep(LOOK_EVERY)  # a node that was lost is told to be there for a moment
        if len(set(versions)) > 1:
            raise ClusterError(
                f"the trainer's ranks found checkpoints of different steps: {versions}",
                "Do all nodes see the same --out folder? The same command resumes.",
            )
        self.version = versions[0]

    async def _opened(self) -> list[int]:
        """Start every rank; returns their versions. Raises `ActorLost`."""
        self._actors = [self.start(rank) for rank in range(self.ranks)]
        meeting = await answered(self._actors[0].meeting_place.remote(), OPEN_SECONDS)
        versions = await self._all("open", self.make, meeting, seconds=OPEN_SECONDS)
        self.facts = await answered(self._actors[0].facts.remote(), OPEN_SECONDS)
        return versions

    async def learn(self, rollouts: Sequence[Credited], step: int) -> UpdateFigures:
        """Take the update of a step, restarting ranks that die; returns its figures."""
        given = ray.put([one if one.teaches else _without_tape(one) for one in rollouts])
        figures: UpdateFigures
        async with self.resting:
            figures, self.version = await self._again("learn", given, step)
        return figures

    async def write(self) -> Path | None:
        """The folder with the current weights; None before the first update."""
        async with self.resting:
            found: Path | None = await self._again("write")
        return found

    async def meeting_place(self) -> tuple[str, int]:
        """The first rank's address; the caller holds `resting`. Raises `ActorLost`."""
        host, port = await answered(self._actors[0].meeting_place.remote(), SEND_SECONDS)
        return host, port

    async def send(self, meeting: Rendezvous) -> str | None:
        """Send the weights to a group that engines join now; the caller holds `resting`. Returns the error, or None;
        lost ranks are restarted. Raises `ClusterError` and the learner's errors if that fails."""
        try:
            return str((await self._all("send", meeting, seconds=SEND_SECONDS))[0] or "") or None
        except ActorLost as error:
            log.warning("the trainer was lost: %s; it is restarted", error)
            await self._restarted()
            return str(error)

    async def close(self) -> None:
        for actor in self._actors:
            ray.kill(actor)

    async def _again(self, what: str, *given: Any) -> Any:
        """A call on all ranks, repeated after restarting ranks that died. Raises `ClusterError`."""
        for left in range(FAILURES - 1, -1, -1):
            try:
                return (await self._all(what, *given, seconds=LEARN_SECONDS))[0]
            except ActorLost as error:
                log.warning("the trainer was lost: %s; it is restarted", error)
                if not left:
                    raise ClusterError(f"the trainer died {FAILURES} times in a row: {error}", MEMORY) from error
            await self._restarted()

    async def _restarted(self) -> None:
        self.restarted += 1
        await self.close()
        await self.open()

    async def _all(self, what: str, *given: Any, seconds: float) -> list[Any]:
        """The results of all ranks. Raises the first error that a rank returns, while others may still wait for it in a
        collective, and `ActorLost`."""
        return await all_of([_asked(getattr(actor, what).remote(*given), seconds) for actor in self._actors])


def _without_tape(one: Credited) -> Credited:
    """An episode without gradient needs no tokens, only to be counted."""
    return replace(one, played=replace(one.played, segments=()))


async def _asked(call: Any, seconds: float) -> Any:
    found = await answered(call, seconds)
    if isinstance(found, SelfplayError):
        raise found
    return found


def threads_of(ranks: int) -> int:
    """Threads of each rank on a CPU: as set in the environment, or all cores divided among the ranks."""
    return int(os.environ.get("OMP_NUM_THREADS") or max(1, (os.cpu_count() or 1) // ranks))
