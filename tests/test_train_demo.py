"""`make train-demo` ends with an error, and says why, when its run is not what it promises."""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.steps_trained import Account
from benchmarks.train_demo import wrong

GOOD = Account(
    steps=7, updates=6, version=6, planned=77, once=77, credited=77, taught={"injector": 9, "solver": 40}, valid=1,
    injections=21, resolved=20, attempts=56, example="a.jsonl.zst",
)  # fmt: skip


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"updates": 5, "version": 5}, "5 of 6 updates were taken"),
        ({"version": 7}, "version 7 of the weights after 6 updates"),
        ({"once": 75}, "a rollout stands in two steps"),
        ({"credited": 76}, "a rollout was left out of its step"),
        ({"taught": {"injector": 0, "solver": 40}}, "one role never had anything to learn from"),
    ],
)
def test_what_is_wrong_is_said(other: dict[str, Any], why: str) -> None:
    assert why in wrong(replace(GOOD, **other), kept=True)


def test_a_good_run_is_good_and_one_that_played_again_is_not() -> None:
    assert wrong(GOOD, kept=True) == ""
    assert "played again" in wrong(GOOD, kept=False)
