"""How much an artifact must show: the `min_*` values of the method, which its paper leaves open, and the limits."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Thresholds:
    """`seconds`: wall time a run of the test script may take. `repeats`: how often the original and the buggy tree
    are run in all, to find tests whose outcome varies."""

    min_passing_tests: int = 5
    min_changed_files: int = 1
    min_failing_tests: int = 1
    seconds: float = 90.0
    repeats: int = 2

    def __post_init__(self) -> None:
        if min(self.min_passing_tests, self.min_changed_files, self.min_failing_tests, self.repeats) < 1:
            raise ValueError(f"every threshold is at least 1: {self}")
        if self.seconds <= 0:
            raise ValueError(f"seconds must be positive: {self}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
