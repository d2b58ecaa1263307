"""A prediction is weakly assured where its inputs run less than half of what the bug changed."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from exploits.conftest import lab as lab
from exploits.projects import Lab

from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.compare import judge, unknown
from selfplay.oracle.behaviour.line_reach import changed_statements, reached
from selfplay.oracle.behaviour.stored_behaviour import Behaviour

NAMES = [f"c{at}" for at in range(12)]
KNOWN = Behaviour(
    calls=Calls(sources=dict.fromkeys(NAMES, "m.f(1)")), novel=frozenset(NAMES),
    right={name: {f"{name}/0": name} for name in NAMES}, wrong={name: {f"{name}/0": "0"} for name in NAMES},
)  # fmt: skip


@pytest.mark.long
def test_the_statements_that_a_bug_takes_away(lab: Callable[[str], Lab]) -> None:
    """Of `share`: the check in lines 6 and 7, and the list in line 9."""
    shown = lab("python")._grader.calibration.behaviour
    assert changed_statements(lab("python").task) == {6, 7, 9}
    assert shown is not None and shown.reached == (3, 3)


@pytest.mark.slow
def test_where_there_is_no_python_nothing_is_known(lab: Callable[[str], Lab]) -> None:
    assert changed_statements(lab("javascript").task) == frozenset()


def test_lines_of_all_calls_count_together() -> None:
    assert reached(frozenset({3, 4, 9}), ['"1-2 9"', "", '"3 11"', f'"{"9" * 64}"']) == (2, 3)
    assert reached(frozenset(), ['"1"']) == (0, 0)


@pytest.mark.parametrize(("lines", "state"), [((4, 9), "unavailable"), ((5, 10), "passed"), ((0, 0), "passed")])
def test_less_than_half_assures_weakly(lines: tuple[int, int], state: str) -> None:
    known = replace(KNOWN, reached=lines)
    layer = unknown(known, (), judge(known, known.right))
    assert layer.state == state
    assert state == "passed" or layer.reason.startswith("the inputs run 4 of the 9 changed lines; it behaves")
