"""What becomes of failed attempts, also of those that a shared run holds."""

import hand_made
import pools
import pytest

from selfplay.artifact import Bug, Verdict
from selfplay.curriculum import Attempt
from selfplay.rollout import promotion
from selfplay.rollout.second_order import Measured

ARTIFACT = hand_made.artifact("python")
MEASURED: Measured = (("t",), ("u",), (), Verdict("second order", True, ""))


def failed(diff: str) -> Attempt:
    return Attempt("b.0", "scripted", 1, False, "failing-tests", "", diff)


@pytest.mark.parametrize(("diff", "status"), [("this is no diff\n", "no diff: "), ("", "empty"), ("\0", "no diff: ")])
def test_an_attempt_whose_diff_is_none_is_one_status(diff: str, status: str) -> None:
    """It ended the promotion of all bugs, again at each resume."""
    assert promotion._unfit(failed(diff)).startswith(status)


@pytest.mark.parametrize("letters", [1, 116, 117, 128])
def test_a_child_s_name_is_a_bug_s(letters: int) -> None:
    """A longer one was stored, and no command could read the run again."""
    names = []
    for last in "bc":
        parent = pools.bug(ARTIFACT, id="b" * (letters - 1) + last)
        child = promotion._bug(parent, failed("x"), MEASURED)
        assert Bug.model_validate_json(child.model_dump_json()) == child and child.parent == parent.id
        names.append(child.id)
    assert len({*names}) == 2
