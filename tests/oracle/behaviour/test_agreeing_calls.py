"""What a repair breaks beside the bug is seen by calls that the bug leaves as they are."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest
from exploits.conftest import lab as lab
from exploits.projects import MONEY, Lab
from oracle.behaviour.test_stored_behaviour import OTHER_REPAIR, layer

from selfplay.oracle.behaviour.agreeing_calls import (
    KEPT_GUARDS,
    OF_A_FUNCTION,
    STEPS,
    _agreed,
    by_turns,
    damage,
    function_of,
)
from selfplay.oracle.behaviour.call_results import TriedCalls
from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.probe_runner import Bench
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
    kept = by_turns(groups, KEPT_GUARDS, OF_A_FUNCTION)
    assert len(kept) == KEPT_GUARDS and {name[0] for name in kept} == set(letters)
    assert max(sum(name[0] == letter for name in kept) for letter in letters) <= OF_A_FUNCTION


def tried(first: dict[str, str], buggy: dict[str, str], source: str) -> TriedCalls:
    """One call `c0` and what the two programs do in it."""
    made = TriedCalls(cast(Bench, None), Calls(), names={"c0": source})
    made.first["c0"], made.buggy["c0"] = first, buggy
    return made


def test_steps_on_which_both_programs_agree_are_a_guard_and_a_call_that_differs_is_none() -> None:
    """A scenario that differs in its second step of three: what the first and the third show is kept."""
    first = {"c0/0": "null", "c0/1": "1", "c0/2": '["raised", "KeyError"]', "c0/3": "3"}
    scenario = tried(first, first | {"c0/2": "2"}, "selfplay_s0.f()")
    assert _agreed(scenario, []) == {"c0": {"c0/0": "null", "c0/1": "1", "c0/3": "3"}}
    assert _agreed(tried(first, first | {"c0/2": "2"}, "m.f(1)"), []) == {}
    assert _agreed(tried(first, first, "m.f(1)"), []) == {"c0": first}
    ends_alike = tried({"c0/0": "null", "c0/1": "1"}, {"c0/0": "null", "c0/1": "2"}, "selfplay_s0.f()")
    assert _agreed(ends_alike, []) == {}


def test_only_the_steps_of_a_guard_are_compared_and_all_that_a_call_does() -> None:
    known = Guards(
        Calls(sources={f"c{at}": f"selfplay_s{at}.f()" for at in range(3)}),
        {f"c{at}": {f"c{at}/1": "1", f"c{at}/3": "3"} for at in range(3)},
        partly=frozenset({"c0", "c1", "c2"}),
    )
    right = {f"c{at}": {f"c{at}/{step}": str(step) for step in range(5)} for at in range(3)}
    assert damage(known, right) is None
    assert damage(known, {name: said | {f"{name}/3": "4"} for name, said in right.items()}) is not None
    assert damage(replace(known, partly=frozenset()), right) is not None, "what a whole guard prints counts"
    assert damage(KNOWN, {name: said | {f"{name}/1": "printed"} for name, said in KNOWN.right.items()}) is not None
