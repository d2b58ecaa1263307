"""The parts of a training run in one process: episodes on this event loop, the trainer in a thread."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class LearnsHere:
    """The trainer in a thread of this process."""

    learner: Learner

    @property
    def version(self) -> int:
        return self.learner.version

    async def learn(self, rollouts: Sequence[Credited], step: int) -> UpdateFigures:
        return await asyncio.to_thread(self.learner.learn, rollouts, step)

    async def write(self) -> Path | None:
        return await asyncio.to_thread(self.learner.write)


@dataclass(frozen=True)
class SamplesHere:
    """The engine in this process: weights go by file."""

    player: ModelPlayer

    async def sync(self, learner: TrainerBackend) -> None:
        weights = await learner.write()
        if weights is not None:
            await self.player.reload(weights, learner.version)
