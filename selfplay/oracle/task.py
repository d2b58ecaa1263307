"""The solver's task, and what decides whether a prediction resolves it."""

from dataclasses import dataclass

from selfplay.artifact import Artifact
from selfplay.sandbox import World


@dataclass(frozen=True)
class Task:
    """The solver's task. `world`: the stripped original; `extra`: the diffs of failed attempts (order 2)."""

    world: World
    artifact: Artifact
    extra: tuple[str, ...] = ()

    @property
    def diffs(self) -> tuple[str, ...]:
        """The diffs that turn the original into the broken tree, in order."""
        return (*self.artifact.diffs, *self.extra)


@dataclass(frozen=True)
class Oracle:
    """What decides: the ids that a prediction must make pass. `seconds`: time limit of the script."""

    fail_to_pass: frozenset[str]
    pass_to_pass: frozenset[str]
    seconds: float = 90.0

    @property
    def wanted(self) -> frozenset[str]:
        return self.fail_to_pass | self.pass_to_pass
