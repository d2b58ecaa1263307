"""The parts of a training run as protocols, for any process: what plays, what samples, what learns."""

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple, Protocol

from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.rollout import InjectorRollout, SolverRollout
from selfplay.update.batch.crediting import Credited
from selfplay.update.batch.figures import UpdateFigures


class TrainerBackend(Protocol):
    """The model in training. `version`: how many updates it has taken."""

    @property
    def version(self) -> int: ...

    async def learn(self, rollouts: Sequence[Credited], step: int) -> UpdateFigures:
        """Take the update of a step, unless a checkpoint has it; returns its figures."""
        ...

    async def write(self) -> Path | None:
        """The folder with the current weights; None before the first update."""
        ...


class RolloutBackend(Protocol):
    """Plays the episodes of a repository. `places`: how many at once; the lowest step comes first. `elsewhere`: whether
    on other machines."""

    @property
    def places(self) -> int: ...

    @property
    def elsewhere(self) -> bool: ...

    async def inject(self, repository: str, number: int, step: int) -> InjectorRollout: ...

    async def solve(self, repository: str, ready: ReadyBug, number: int, step: int) -> SolverRollout: ...


class AttemptableBugs(Protocol):
    """The bugs that can be attempted. `ready`: those that were read, by id."""

    @property
    def ready(self) -> Mapping[str, ReadyBug]: ...

    async def read(self, bugs: Set[str]) -> None:
        """Read and audit the bugs that are not ready yet; one that cannot be attempted does not become ready."""
        ...

    async def promote(self, bugs: Set[str], most: int) -> None:
        """Make up to `most` second-order bugs from each bug's failed attempts, for later steps."""
        ...


class InferenceBackend(Protocol):
    """The engines."""

    async def sync(self, learner: TrainerBackend) -> None:
        """Sample with the learner's weights from now on. Not needed before the first update."""
        ...


class TrainingParts(NamedTuple):
    """What plays, samples and learns. `opposes`: where an opponent plays; None: in the driver's process, if at all."""

    plays: RolloutBackend
    engines: InferenceBackend
    learner: TrainerBackend
    opposes: RolloutBackend | None = None


class TrainWatcher(Protocol):
    """Receives the progress."""

    def say(self, line: str) -> None: ...

    def done(self, line: str) -> None: ...
