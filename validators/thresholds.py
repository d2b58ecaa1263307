"""How much an artifact must show: the `min_*` values of the method, which its paper leaves open, and the limits."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Thresholds:
    """`seconds`: wall time a run of the test script may take. `repeats`: how often the original and the buggy tree
    are run in all, to find tests whose outcome varies. `max_changed_files`: of a bug; each costs a run of its own.
    `max_lost_share`: of the tests that pass under the bug, how many may go with the cases of theirs that fail."""

    min_passing_tests: int = 5
    min_changed_files: int = 1
    min_failing_tests: int = 1
    seconds: float = 90.0
    repeats: int = 2
    max_changed_files: int = 100
    max_lost_share: float = 0.25

    def __post_init__(self) -> None:
        if min(self.min_passing_tests, self.min_changed_files, self.min_failing_tests, self.repeats) < 1:
            raise ValueError(f"every threshold is at least 1: {self}")
        if self.max_changed_files < self.min_changed_files:
            raise ValueError(f"no bug changes at least {self.min_changed_files} and at most {self.max_changed_files}")
        if self.seconds <= 0:
            raise ValueError(f"seconds must be positive: {self}")
        if not 0 <= self.max_lost_share <= 1:
            raise ValueError(f"max_lost_share is a share, from 0 to 1: {self}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Thresholds":
        """What `to_json` gave, in this version or another: unknown thresholds of a later one are left out.

        Raises `TypeError` or `ValueError` for values that are no thresholds.
        """
        known = {field.name for field in fields(cls)}
        return cls(**{name: threshold for name, threshold in value.items() if name in known})
