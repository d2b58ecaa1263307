"""The policy for weakly assured grades: one setting, for grading and for training."""

from dataclasses import replace
from typing import Literal, get_args

from selfplay.oracle.grades import WEAK, Grade

Weak = Literal["count", "refuse"]
"""`count`: a weak grade is resolved, and counted separately; `refuse`: it is not resolved, with the reason `weak`."""
CHOICES: tuple[Weak, ...] = get_args(Weak)


def settled(grade: Grade, weak: Weak) -> Grade:
    """Apply this setting to a grade."""
    if weak == "count" or not grade.weaknesses:
        return grade
    return replace(grade, resolved=False, reason=WEAK, detail=f"only weakly assured: {grade.weaknesses[0]}")


def assurance(grade: Grade) -> Literal["", "full", "weak"]:
    """`full` or `weak` for a prediction that passed every layer; empty for any other."""
    if not grade.resolved and grade.reason != WEAK:
        return ""
    return "weak" if grade.weaknesses else "full"
