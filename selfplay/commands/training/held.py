"""Keeps the trajectories that a step got until they are credited, so that a file just written need not be read again.

After a kill nothing is held, and the files are read: both give the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from selfplay.agent.trajectory import Trajectory
from selfplay.commands.training.interfaces import RolloutBackend
from selfplay.curriculum import Curriculum
from selfplay.curriculum.attempts import attempt_trajectory
from selfplay.curriculum.crediting import ENDING, injection_name
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.rollout import InjectorRollout, SolverRollout


@dataclass(frozen=True)
class Holding:
    """A `RolloutBackend` that holds the trajectories of what it plays, by the name of their file."""

    plays: RolloutBackend
    pool: Curriculum
    held: dict[str, Trajectory] = field(default_factory=dict)

    @property
    def places(self) -> int:
        return self.plays.places

    @property
    def elsewhere(self) -> bool:
        return self.plays.elsewhere

    async def inject(self, repository: str, number: int, step: int) -> InjectorRollout:
        rollout = await self.plays.inject(repository, number, step)
        self._hold(injection_name(number, self.pool.episodes.suffix(repository)) + ENDING, rollout.trajectory)
        return rollout

    async def solve(self, repository: str, ready: ReadyBug, number: int, step: int) -> SolverRollout:
        rollout = await self.plays.solve(repository, ready, number, step)
        task = rollout.task
        self._hold(attempt_trajectory(task.bug, task.policy, task.number), rollout.trajectory)
        return rollout

    def take(self, names: Iterable[str]) -> dict[str, Trajectory]:
        """What is held of these, which is then held no longer."""
        return {name: self.held.pop(name) for name in names if name in self.held}

    def _hold(self, name: str, trajectory: Trajectory) -> None:
        self.held[name] = replace(trajectory, steps=())  # credit needs the tape and its messages
