"""Limits that an artifact must meet: the `min_*` values of the method, which the paper leaves open, and upper
limits."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Thresholds:
    """`seconds`: time limit of one run of the test script. `repeats`: runs of the original and of the buggy tree in
    total, to find tests whose outcome varies. `max_changed_files`: limit of one bug, since each file costs one run.
    `max_lost_share`: the share of the tests passing under the bug that the weakening may remove with the failing cases
    of the same parametrised tests."""

    min_passing_tests: int = 5
    min_changed_files: int = 1
    min_failing_tests: int = 1
    seconds: float = 90.0
    repeats: int = 2
    max_changed_files: int = 100
    max_lost_share: float = 0.25

    def __post_init__(self) -> None:
        if min(self.min_passing_tests, self.min_changed_files, self.min_failing_tests, self.repeats) < 1:
            raise ValueError(f"every threshold must be at least 1: {self}")
        if self.max_changed_files < self.min_changed_files:
            raise ValueError(f"min_changed_files is above max_changed_files: {self}")
        if self.seconds <= 0:
            raise ValueError(f"seconds must be positive: {self}")
        if not 0 <= self.max_lost_share <= 1:
            raise ValueError(f"max_lost_share must be from 0 to 1: {self}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Thresholds":
        """Read the output of `to_json`, of any version: unknown thresholds of a later version are ignored.

        Raises `TypeError` or `ValueError` for values that are not thresholds.
        """
        known = {field.name for field in fields(cls)}
        return cls(**{name: threshold for name, threshold in value.items() if name in known})
