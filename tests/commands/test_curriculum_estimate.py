"""What a run says after the first measurement: how long it may take, and which tests are left out."""

from dataclasses import replace
from pathlib import Path

import pytest

from selfplay.commands.curriculum import estimate
from selfplay.commands.order import Order
from selfplay.repository import Suite

SUITE = Suite(("a.py",), {"a.py::test_a": 0.1}, (), (), (), None, 1.0, (), 10.0, 1.0, "python", "pytest")


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        (SUITE, "1 test passes in 1 s: "),
        (replace(SUITE, failing=("a.py::test_net",)), "1 test passes in 1 s (failing: a.py::test_net): "),
        (
            replace(SUITE, failing=tuple("abcde"), flaky=("f",), left_out=("b.py",)),
            "1 test passes in 1 s (failing: a, b, c and 2 more; varying: f; left out: b.py): ",
        ),
    ],
)
def test_what_is_left_out_is_named(suite: Suite, said: str) -> None:
    assert estimate(suite, Order("project", Path("out"), 1)).startswith(said)
