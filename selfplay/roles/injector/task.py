"""The injector's task: everything its prompt says, as a value."""

from dataclasses import dataclass
from typing import Literal

from selfplay.repository import Suite

Strategy = Literal["removal", "history", "direct", "feature"]
"""`feature` (breakage left behind by a new feature, as in BugPilot) needs a model."""
SUBMISSION = "/tmp/artifact"
"""Where the injector leaves the five files, outside the repository."""


@dataclass(frozen=True)
class InjectorTask:
    """The task of one episode. `number` counts the episodes of a run; with `seed` it fixes every random choice.

    `commits`: how far back the history strategy looks. `seconds`: time limit of a test script. `seed_location`: the
    file where a model begins, so that bugs differ; scripts spread their bugs by `turn`: how many earlier episodes had
    this strategy.
    """

    strategy: Strategy
    seed: int
    number: int
    suite: Suite
    min_passing_tests: int = 5
    min_changed_files: int = 1
    min_failing_tests: int = 1
    commits: int = 200
    seconds: float = 90.0
    seed_location: str | None = None
    turn: int = 0
