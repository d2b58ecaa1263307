"""A rollout: one episode of a role from start to outcome, as a value. Storing it is the caller's job."""

from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from selfplay.agent import Trajectory
from selfplay.artifact import Artifact, Bug
from selfplay.curriculum.records import Status

FORMAT = 1
"""Format version of stored rollouts: raised when a field changes its meaning, not when one is added."""


@dataclass(frozen=True)
class InjectorKey:
    """Names an injector episode: the `number`th of a repository. With `seed` it fixes every random choice."""

    repository: str
    strategy: str
    seed: int
    number: int
    seed_location: str | None = None
    role: Literal["injector"] = "injector"

    @property
    def group(self) -> str:
        """Equal for the episodes that training compares with each other, which saw one prompt: same repository,
        strategy and seed location."""
        return "/".join([self.repository, self.strategy, self.seed_location or ""])


@dataclass(frozen=True)
class SolverKey:
    """Names an attempt: the `number`th attempt at a bug, filed under `policy`."""

    bug: str
    policy: str
    seed: int
    number: int
    role: Literal["solver"] = "solver"

    @property
    def group(self) -> str:
        return self.bug


@dataclass(frozen=True)
class InjectorOutcome:
    """The outcome of an injector episode. `seconds`: wall time of play and checks together; `suite_runs` and
    `validation_seconds`: what the checks spent. `files`, `changed_lines` and `bug` are set for a valid artifact.
    `tree_key`, `task_key`: equal for equal buggy trees, and equal weakenings, of one repository."""

    status: Status
    reason: str
    seconds: float
    failed_check: str | None = None
    tree_key: str | None = None
    artifact: Artifact | None = None
    bug: Bug | None = None
    suite_runs: int = 0
    validation_seconds: float = 0.0
    files: tuple[str, ...] = ()
    changed_lines: int = 0
    fail_to_pass: int = 0
    task_key: str = ""


@dataclass(frozen=True)
class SolverOutcome:
    """The outcome of an attempt. `diff`: what was graded; `left_out`: changed paths that were not graded; `reason` and
    `detail` come from the grade; `changed_lines`: None where the diff cannot be read; `assurance`: full or weak, if it
    passed every layer; `weaknesses`: why it is weak."""

    resolved: bool
    reason: str
    detail: str
    diff: str
    seconds: float
    left_out: tuple[str, ...] = ()
    suite_runs: int = 0
    grading_seconds: float = 0.0
    changed_lines: int | None = None
    assurance: Literal["", "full", "weak"] = ""
    weaknesses: tuple[str, ...] = ()


K = TypeVar("K", InjectorKey, SolverKey)
Out = TypeVar("Out", InjectorOutcome, SolverOutcome)


@dataclass(frozen=True)
class Rollout(Generic[K, Out]):
    """One episode (`trajectory`) of a `task`, its `outcome`, and the `group` of episodes it is compared with. `file`:
    what its trajectory's file will hold, if it was encoded where it was played (`stored.with_file`)."""

    trajectory: Trajectory
    task: K
    outcome: Out
    file: bytes = field(default=b"", repr=False, compare=False)

    @property
    def group(self) -> str:
        return self.task.group


InjectorRollout = Rollout[InjectorKey, InjectorOutcome]
SolverRollout = Rollout[SolverKey, SolverOutcome]
