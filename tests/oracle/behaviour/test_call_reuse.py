"""What a call returns is asked for more, and one object stands in two places."""

import random
from types import SimpleNamespace

from selfplay.oracle.behaviour.call_probes import varied_calls
from selfplay.oracle.behaviour.call_reuse import followed, shared, used_otherwise, uses_in

CALL, OTHER = "m.Map({'a': {'b': 1}, 'c': 2}).copy()", "m.Map({'x': 1}).get('x').pop('y', 3)"


def test_what_a_call_returns_is_used_as_that_of_another() -> None:
    made = {followed(CALL, OTHER, random.Random(seed)) for seed in range(300)}
    assert {f"{CALL}.pop('y', 3)", f"{CALL}.get('x').pop('y', 3)", "m.Map({'a': {'b': 1}, 'c': 2}).pop('y', 3)"} <= made
    assert "m.Map({'a': {'b': 1}, 'c': 2}).pop('a', 3)" in made  # for what it holds


def test_only_calls_of_what_others_return_are_uses_and_of_one_object() -> None:
    uses = uses_in([CALL, OTHER, "m.f(1)", "m.g(m.f(2))", "m.Set().pop()"])
    assert uses == {"m.Map": {"copy": [CALL], "pop": [OTHER]}, "m.Set": {"pop": ["m.Set().pop()"]}}
    made = {used_otherwise("m.Map(3)", uses, random.Random(seed)) for seed in range(50)}
    assert made >= {"m.Map(3).copy()", "m.Map(3).pop('y', 3)"} and "m.Map(3).pop()" not in made
    assert used_otherwise("m.f(2)", uses, random.Random(1)) is None


def test_one_object_stands_in_two_places() -> None:
    """In any order; never as a key, and not in a call that cannot hold one twice."""
    made = {shared("m.use([1], {'k': 2}, 'z')", random.Random(seed)) for seed in range(200)}
    given = [eval(one or "None", {"m": SimpleNamespace(use=lambda *all_: all_)}) for one in made]
    assert any(one[0] is one[1] for one in given) and any(one[1] is one[2] for one in given)
    assert any(one[0] is one[1]["k"] for one in given if isinstance(one[1], dict))
    assert shared("m.use([1])", random.Random(1)) is None and shared("m.use('a', 2)", random.Random(1)) is None


def test_both_are_among_the_changes() -> None:
    made = varied_calls([CALL], [OTHER], 300, 1)
    assert any(one.endswith(").pop('y', 3)") for one in made) and any("selfplay_o :=" in one for one in made)
