"""Weak grades are counted or refused, as a setting says, and never lost from the figures."""

from dataclasses import replace

import pytest

from selfplay.oracle.assurance import CHOICES, NEEDED, Weak
from selfplay.oracle.grades import Grade, assurance, settled
from selfplay.oracle.layers import passed, unavailable

FULL = Grade(True, "resolved", "all pass", tuple(passed(name, "seen") for name in NEEDED))
WEAKLY = replace(FULL, layers=(*FULL.layers[:-1], unavailable(NEEDED[-1], "it changes something else")))
FAILED = Grade(False, "failing-tests", "one fails")


@pytest.mark.parametrize("weak", CHOICES)
@pytest.mark.parametrize("grade", [FULL, FAILED], ids=["full", "failed"])
def test_what_is_not_weak_stays_as_it_is(grade: Grade, weak: Weak) -> None:
    assert settled(grade, weak) == grade


def test_a_weak_grade_is_counted_or_refused() -> None:
    assert settled(WEAKLY, "count") == WEAKLY and WEAKLY.resolved
    refused = settled(WEAKLY, "refuse")
    assert (refused.resolved, refused.reason) == (False, "weak")
    assert refused.detail == "only weakly assured: parts: it changes something else"
    assert refused.weaknesses == WEAKLY.weaknesses and refused.to_json()["assurance"] == "weak"


def test_the_figures_count_what_passed_every_layer() -> None:
    grades = [FULL, WEAKLY, settled(WEAKLY, "refuse"), FAILED]
    assert [assurance(grade) for grade in grades] == ["full", "weak", "weak", ""]
