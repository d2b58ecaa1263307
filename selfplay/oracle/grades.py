"""The grade of one prediction: whether it is resolved, why, and how well that is assured."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from selfplay.oracle.assurance import Weak, weaknesses
from selfplay.oracle.layers import Layer
from selfplay.oracle.reasons import WEAK


@dataclass(frozen=True)
class Grade:
    """`reason` is `resolved`, or one of `REASONS`; `detail`: one line for users. `left_out`: (path, why) of the changes
    that were not applied. `runs`: suite runs; `seconds`: wall time of the scripts."""

    resolved: bool
    reason: str
    detail: str
    layers: tuple[Layer, ...] = ()
    missing: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    runs: int = 0
    seconds: float = 0.0

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """Why a prediction that passed every layer is only weakly assured; empty if it is fully assured."""
        return weaknesses(self.layers) if self.resolved or self.reason == WEAK else ()

    def to_json(self) -> dict[str, Any]:
        """Plain values, in reading order."""
        return {
            "resolved": self.resolved, "assurance": assurance(self),
            "weaknesses": list(self.weaknesses), "reason": self.reason, "detail": self.detail, "runs": self.runs,
            "seconds": round(self.seconds, 3), "notes": list(self.notes),
            "left_out": [{"path": path, "why": why} for path, why in self.left_out],
            "missing": list(self.missing), "failing": list(self.failing),
            "layers": [layer.to_json() for layer in self.layers],
        }  # fmt: skip


def with_layer(grade: Grade, layer: Layer, seconds: float) -> Grade:
    """Add the result of one more layer, and the time it took."""
    return replace(grade, layers=(*grade.layers, layer), runs=grade.runs + layer.runs, seconds=grade.seconds + seconds)


def stopped_by(grade: Grade) -> Grade | None:
    """The grade with the reason of the first layer that caught something; None if none did."""
    for layer in grade.layers:
        if layer.state == "caught":
            return replace(grade, reason=layer.name, detail=layer.reason)
    return None


def settled(grade: Grade, weak: Weak) -> Grade:
    """Apply the setting for weakly assured grades to a grade."""
    if weak == "count" or not grade.weaknesses:
        return grade
    return replace(grade, resolved=False, reason=WEAK, detail=f"only weakly assured: {grade.weaknesses[0]}")


def assurance(grade: Grade) -> Literal["", "full", "weak"]:
    """`full` or `weak` for a prediction that passed every layer; empty for any other."""
    if not grade.resolved and grade.reason != WEAK:
        return ""
    return "weak" if grade.weaknesses else "full"
