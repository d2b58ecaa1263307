"""What a repair breaks beside the bug is seen by calls that the bug leaves as they are."""

from collections.abc import Callable

import pytest
from exploits.conftest import lab as lab
from exploits.projects import MONEY, Lab
from oracle.behaviour.test_stored_behaviour import OTHER_REPAIR, layer

from selfplay.oracle.behaviour.agreeing_calls import KEPT_GUARDS, OF_A_FUNCTION, STEPS, by_turns, damage, function_of
from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.stored_behaviour import GONE, Guards

BESIDE = MONEY.replace(
    "def shown(amount):\n", 'def shown(amount):\n    if amount not in (1234, 5):\n        return "0.00"\n'
)
EVEN = "    if amount % parts == 0 and amount != 90:\n        return []\n"
WITHIN = MONEY.replace("    base, rest = divmod", f"{EVEN}    base, rest = divmod")
SOURCES = {f"c{at}": f"m.{'f' if at < 6 else 'g'}({at})" for at in range(30)}
KNOWN = Guards(Calls(sources=SOURCES), {name: {f"{name}/0": "1"} for name in SOURCES})


def seen(*wrong: int, said: str = "2") -> dict[str, dict[str, str]]:
    return {f"c{at}": {f"c{at}/0": said if at in wrong else "1"} for at in range(30)}


@pytest.mark.slow
@pytest.mark.parametrize("text", [BESIDE, WITHIN], ids=["another function", "where the bug does not show"])
def test_a_repair_that_breaks_something_else_is_caught(lab: Callable[[str], Lab], text: str) -> None:
    assert text != MONEY and layer(lab("python"), text) == ("caught", "behaviour")


@pytest.mark.slow
@pytest.mark.parametrize("text", [MONEY, OTHER_REPAIR], ids=["the original", "another algorithm"])
def test_one_that_breaks_nothing_is_resolved(lab: Callable[[str], Lab], text: str) -> None:
    shown = lab("python")._grader.calibration.behaviour
    assert shown is not None and len(shown.guards.right) > 8
    called = {function_of(source) for source in shown.guards.calls.sources.values()}
    assert {"share", "shown"} <= called <= {"share", "shown", "line", STEPS}
    assert layer(lab("python"), text) == ("passed", "resolved")


def test_half_of_a_function_may_differ_and_a_fifth_of_all() -> None:
    assert damage(KNOWN, seen()) is None and damage(KNOWN, seen(0, 1, 2)) is None
    found = damage(KNOWN, seen(0, 1, 2, 3))
    assert found is not None and found.state == "caught"
    assert found.reason == "it differs from the original on 4 of 6 calls of f that the bug does not change"
    assert damage(KNOWN, seen(0, 1, 2, *range(10, 13))) is None
    found = damage(KNOWN, seen(0, 1, 2, *range(10, 14)))
    assert found is not None and found.reason.startswith("it differs from the original on 7 of 30 calls that")


def test_one_call_beside_may_differ() -> None:
    known = Guards(
        Calls(sources={"g1": "m.h(1)", "g2": "m.h(2)", **SOURCES}),
        {**KNOWN.right, "g1": {"g1/0": "1"}, "g2": {"g2/0": "1"}},
    )
    right = {**KNOWN.right, "g1": {"g1/0": "2"}, "g2": {"g2/0": "1"}}
    assert damage(known, right) is None
    found = damage(known, right | {"g2": {}})
    assert found is not None
    assert found.reason.startswith("it differs from the original on 2 of 32 calls, h among them, that the bug does not")


def test_what_is_not_there_any_more_does_not_count_and_what_left_no_record_does() -> None:
    assert damage(KNOWN, seen(*range(6), said=GONE)) is None
    assert damage(KNOWN, {}) is not None and damage(Guards(), {}) is None


def test_each_function_has_its_turn() -> None:
    letters = "abcdefghijklm"
    groups = {f"{letter}{at}": letter for letter in letters for at in range(ord(letter) - 90)}
    kept = by_turns(groups)
    assert len(kept) == KEPT_GUARDS and {name[0] for name in kept} == set(letters)
    assert max(sum(name[0] == letter for name in kept) for letter in letters) <= OF_A_FUNCTION
