"""What a training run is made of, whichever process each part is in: what plays, what samples, what learns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from selfplay.rollout.rollout import InjectorRollout, SolverRollout
from selfplay.rollout.solver import ReadyBug
from selfplay.update.crediting import Credited


class TrainerBackend(Protocol):
    """The model in training. `version`: how many updates it has taken."""

    @property
    def version(self) -> int: ...

    async def learn(self, rollouts: Sequence[Credited], step: int) -> dict[str, Any]:
        """Take the update of a step, unless a checkpoint holds it; its figures."""
        ...

    async def write(self) -> Path | None:
        """The folder with the present weights; None before the first update."""
        ...


class RolloutBackend(Protocol):
    """Where the episodes of a repository are played. `places`: how many at once; those of the lowest step come first.
    `elsewhere`: whether on other machines."""

    @property
    def places(self) -> int: ...

    @property
    def elsewhere(self) -> bool: ...

    async def inject(self, repository: str, number: int, step: int) -> InjectorRollout: ...

    async def solve(self, repository: str, ready: ReadyBug, number: int, step: int) -> SolverRollout: ...


class InferenceBackend(Protocol):
    """The engines."""

    async def sync(self, learner: TrainerBackend) -> None:
        """Sample with the learner's weights from now on. Before the first update they have them."""
        ...


class TrainWatcher(Protocol):
    """Who is told how it goes."""

    def say(self, line: str) -> None: ...

    def done(self, line: str) -> None: ...
