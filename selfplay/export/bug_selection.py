"""Which bugs of a pool go into a dataset, and how they are split."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

from selfplay.artifact import Bug
from selfplay.curriculum import CurriculumError
from selfplay.curriculum.solving import Solves


@dataclass(frozen=True)
class BugSelection:
    """What the user asked for. `solve_rate`: the lowest and the highest share of resolved attempts, inclusive; bugs
    without attempts are left out. `public_share`: the share of F2P that the statement shows; None: as each bug
    records."""

    min_order: int = 1
    max_order: int = 2
    solve_rate: tuple[float, float] | None = None
    strategies: tuple[str, ...] = ()
    public_share: float | None = None

    def refuses(self, bug: Bug, solved: Solves) -> str:
        """Why a bug is left out; empty if it is taken."""
        if not self.min_order <= bug.order <= self.max_order:
            return "of another order"
        if self.strategies and bug.strategy not in self.strategies:
            return "of another strategy"
        if self.solve_rate is None:
            return ""
        made = sum(one["attempts"] for one in solved.values())
        if not made:
            return "without an attempt"
        rate = sum(one["resolved"] for one in solved.values()) / made
        return "" if self.solve_rate[0] <= rate <= self.solve_rate[1] else "of another solve rate"


def read_range(text: str) -> tuple[float, float]:
    """`A:B` as two shares. Raises `CurriculumError`."""
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        low, high = math.nan, math.nan
    if not 0 <= low <= high <= 1:
        raise CurriculumError(f"{text!r} is not a range of solve rates", "Two shares from 0 to 1, such as 0.1:0.9.")
    return low, high


def read_split(text: str) -> float:
    """`A:B`, the parts of train and test, as the share of train. Raises `CurriculumError`."""
    try:
        train, test = (float(part) for part in text.split(":"))
    except ValueError:
        train, test = 0.0, 0.0
    if not (train > 0 and test > 0 and math.isfinite(train + test)):
        raise CurriculumError(f"{text!r} is not a split", "The parts of train and test, such as 80:20.")
    return train / (train + test)


def training_repositories(names: Iterable[str], share: float) -> frozenset[str]:
    """The repositories whose bugs are for training: at least one, and at least one is left for the test. The hash of
    their names decides, so that adding a repository rarely moves another.

    Raises `CurriculumError` for fewer than two."""
    ordered = sorted(set(names), key=lambda name: hashlib.sha256(f"split:{name}".encode()).hexdigest())
    if len(ordered) < 2:
        raise CurriculumError("one repository cannot be split", "Leave --split out, or export several runs together.")
    return frozenset(ordered[: min(max(1, round(share * len(ordered))), len(ordered) - 1)])
