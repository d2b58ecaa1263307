"""The parts of a training run in one process: episodes on this event loop, the trainer in a thread."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from selfplay.commands.injections import play_injection
from selfplay.commands.training.interfaces import TrainerBackend
from selfplay.commands.training.update import Learner
from selfplay.rollout.model_player import ModelPlayer
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.rollout import InjectorRollout, SolverRollout
from selfplay.rollout.runs import RepositoryRuns
from selfplay.rollout.solver import solver_rollout
from selfplay.update.batch.crediting import Credited
from selfplay.update.batch.figures import UpdateFigures


@dataclass(frozen=True)
class PlayedHere:
    """Episodes in this process."""

    runs: Mapping[str, RepositoryRuns]
    places: int
    elsewhere: bool = False

    async def inject(self, repository: str, number: int, step: int) -> InjectorRollout:
        return await play_injection(self.runs[repository].injecting, number)

    async def solve(self, repository: str, ready: ReadyBug, number: int, step: int) -> SolverRollout:
        return await solver_rollout(self.runs[repository].solving, ready, number)


T = TypeVar("T")


class OneThread:
    """Runs all work of a trainer in the same thread. Each thread has a heap of its own, which keeps what an update
    freed: with an update in another thread each time, a process of 9 GB had 20 GB after the third."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="learner")

    async def run(self, function: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *args)


@dataclass(frozen=True)
class LearnsHere:
    """The trainer in a thread of this process."""

    learner: Learner
    thread: OneThread

    @property
    def version(self) -> int:
        return self.learner.version

    async def learn(self, rollouts: Sequence[Credited], step: int) -> UpdateFigures:
        return await self.thread.run(self.learner.learn, rollouts, step)

    async def write(self) -> Path | None:
        return await self.thread.run(self.learner.write)


@dataclass(frozen=True)
class SamplesHere:
    """The engine in this process: weights go by file."""

    player: ModelPlayer

    async def sync(self, learner: TrainerBackend) -> None:
        weights = await learner.write()
        if weights is not None:
            await self.player.reload(weights, learner.version)
