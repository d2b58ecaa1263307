"""Two items of a set have the same order under half of all hash seeds. A call that shows such an order passes a few
looks at the original by chance, and differs later; so a prediction is seen under the seed of the original's last look.
"""

from dataclasses import replace
from typing import Any

import pytest
from oracle.behaviour.test_line_reach import KNOWN

from selfplay.oracle.behaviour import compare
from selfplay.oracle.behaviour.agreeing_calls import lasting
from selfplay.oracle.behaviour.call_runner import Called, Calls
from selfplay.oracle.behaviour.stored_behaviour import Guards
from selfplay.oracle.trial import TrialOrder


def test_the_seed_of_a_calibration_is_the_one_of_its_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of two words, in the two places: under the stored seed it is the original's, under any other it may not
    be."""
    seeds = list[str]()

    class Caller:
        def __init__(self, *given: object) -> None: ...

        def make(self, calls: Calls, diffs: object, place: object, hash_seed: str = "0", **more: object) -> Called:
            seeds.append(hash_seed)
            return Called(KNOWN.right)

    monkeypatch.setattr(compare, "Caller", Caller)
    nothing: Any = None
    known = replace(KNOWN, reached=(1, 1), hash_seed=77)
    layer, _ = compare.look(nothing, nothing, TrialOrder((), 1.0), known, nothing)
    assert layer.state == "passed" and seeds == ["0", "77"]


def test_guards_are_seen_under_that_seed() -> None:
    class Bench:
        def call(self, calls: Calls, *place: Any, hash_seed: str = "77", again: float = 0) -> dict[str, dict[str, str]]:
            return {"g1": {"g1/0": hash_seed}, "g2": {"g2/0": "5"}}

    bench: Any = Bench()
    found = Guards(Calls(sources={"g1": "m.f(1)", "g2": "m.f(2)"}), {"g1": {"g1/0": "77"}, "g2": {"g2/0": "77"}})
    assert {*lasting((found, Guards()), bench, Calls(), 77)[0].right} == {"g1"}
