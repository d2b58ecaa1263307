"""What an artifact must show at least: the `min_*` values of the method, which the paper leaves open, and the
limits."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Thresholds:
    """`seconds`: wall time limit of one run of the test script. `repeats`: how often the original and the buggy tree
    are run in total, to find tests whose outcome varies. `max_changed_files`: of a bug; each costs one run.
    `max_lost_share`: share of the tests passing under the bug that may be lost as other cases of failing parametrised
    tests."""

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
        """Read the output of `to_json`, of this version or another: unknown thresholds of a later version are ignored.

        Raises `TypeError` or `ValueError` for values that are not thresholds.
        """
        known = {field.name for field in fields(cls)}
        return cls(**{name: threshold for name, threshold in value.items() if name in known})
