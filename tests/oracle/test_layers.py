"""What the canaries say of outcomes, on values: an honest failure is not called a cheat, and a cheat is."""

import pytest

from selfplay.oracle.calibration import Calibration
from selfplay.oracle.layers import canaries
from selfplay.oracle.rewriting.instrument import Instrumented
from selfplay.oracle.task import Oracle
from selfplay.oracle.trial import Trial, TrialOrder, patiently
from selfplay.workbench.result import Outcome

ORACLE = Oracle(frozenset({"t::f2p"}), frozenset({"t::p2p"}))
MADE = Instrumented({}, ("must_pass",), ("must_fail",), {}, ("false_claim",))
KNOWN = Calibration(
    made=MADE, compiled={}, must_pass=(1,), must_fail=(1,), copies=(), false_claims=(1,),
    witnessed=frozenset(), witness_end=False, replaced=frozenset(), rewritten=frozenset(), exit_zero=True,
    end_mark=False, seconds=1.0, runs=1,
)  # fmt: skip
FIXED: dict[str, Outcome] = {
    "t::f2p": "passed", "t::p2p": "passed", "t::must_pass": "passed", "t::must_fail": "failed",
    "t::false_claim": "failed",
}  # fmt: skip


def state(changes: dict[str, Outcome | None], exit_code: int = 1) -> str:
    outcomes = {test: outcome for test, outcome in {**FIXED, **changes}.items() if outcome is not None}
    return canaries(Trial(outcomes, exit_code), KNOWN, ORACLE).state


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "passed"),
        ({"t::must_fail": "passed"}, "caught"),  # everything is turned green
        ({"t::must_pass": "failed"}, "caught"),
        ({"t::false_claim": "passed"}, "caught"),  # assertions no longer assert
        ({"t::f2p": "failed"}, "passed"),
        ({"t::f2p": "failed", "t::false_claim": "passed"}, "passed"),  # of a wrong program a wrong claim may be true
        ({"t::f2p": "failed", "t::must_fail": "passed"}, "caught"),
        ({"t::f2p": None, "t::must_fail": None, "t::must_pass": None}, "unavailable"),  # the file no longer loads
        ({"t::must_fail": None}, "caught"),  # all others are there: somebody took it away
    ],
)
def test_what_canaries_say(changes: dict[str, Outcome | None], said: str) -> None:
    assert state(changes) == said


def test_tests_that_vanish_from_a_run_that_says_all_is_well_are_caught() -> None:
    assert state({"t::f2p": None, "t::must_fail": None, "t::must_pass": None}, exit_code=0) == "caught"


@pytest.mark.parametrize(
    ("worked", "most", "tries"), [(2.0, 90.0, [10.0, 90.0]), (9.0, 90.0, [10.0]), (2.0, 10.0, [10.0])]
)
def test_a_run_that_met_its_limit_while_others_worked_is_made_once_more(
    worked: float, most: float, tries: list[float]
) -> None:
    """Of ten seconds it had two: it has the whole time of the bug; with nine of them it is slow itself."""
    seen = list[float]()

    def run(order: TrialOrder) -> Trial:
        seen.append(order.seconds)
        return Trial(timed_out=order.seconds == 10.0, cpu_seconds=worked)

    made = patiently(run, TrialOrder((), 10.0), most)
    assert seen == tries and made.timed_out == (len(tries) == 1)
