"""Calls of one object, one after the other, as tests make them."""

import ast
import functools
from typing import Any

from selfplay.oracle.behaviour.sequences import DIFFERENT, HELPER, SEQUENCE, SEQUENCES, sequences

CALLS = ["m.Box(2).put('a', 1)", "m.Box(3).put('b', x=2)", "m.Box(2).get('a')", "m.f(1)", "m.Other().go()"]


def test_sequences_make_an_object_as_tests_do_and_use_it() -> None:
    """`Other` has one method only: a single call shows all of it. What no test makes is not made."""
    more = ["m.Box(-1).get('c')", "m.Third().go()", "m.Third().stop()"]
    made = sequences(CALLS, more, 1)
    assert len(made) > SEQUENCES // 2 and sequences(CALLS, more, 1) == made != sequences(CALLS, more, 2)
    for call in made:
        thing, times, *steps = ast.parse(call, mode="eval").body.args  # type: ignore[attr-defined]
        assert ast.unparse(thing).removeprefix(f"{SEQUENCE}.filled(").rstrip(")") in (
            "m.Box(2",
            "m.Box(3",
        ) and times.value in (1, 8, 60)
        assert {ast.unparse(one.body.func) for one in steps} <= {"o.put", "o.get"}
    assert sequences(["m.f(1)", "m.Other().go()"], [], 1) == []


def test_a_function_that_is_returned_is_called() -> None:
    made = sequences(["m.cached({})(1, 'a')", "m.cached({})(2)", "m.cached({}).clear()"], [], 1)
    assert any("several(m.cached({})" in call and "o(" in call and "o.clear()" in call for call in made)


def test_the_steps_of_a_sequence_concern_few_things() -> None:
    calls = [f"m.Box(2).put({at}, 'n{at}')" for at in range(40)] + ["m.Box(2).get(3)"]
    for call in sequences(calls, [], 1):
        steps = [one for one in ast.walk(ast.parse(call)) if isinstance(one, ast.Lambda)]
        values = {node.value for step in steps for node in ast.walk(step) if isinstance(node, ast.Constant)}
        assert len(values) <= 2 * DIFFERENT


def test_the_helper_tells_each_step_of_the_last_round() -> None:
    space: dict[str, Any] = {}
    exec(HELPER, space)
    assert space["several"]([], 3, lambda o: o.append(1), lambda o: len(o), lambda o: o[9]) == (
        [None, 3, "IndexError"], [1, 1, 1], [0, 0, 0],
    )  # fmt: skip


def test_what_a_returned_function_remembers_shows() -> None:
    """A decorator that keeps nothing, and one that does: both answer right, the second without calling what it was
    given."""
    (made, *_) = sequences(["m.plain(f)(1)"], [], 1)
    assert "m.plain(selfplay_t.counted(f))" in made
    space: dict[str, Any] = {}
    exec(HELPER, space)
    steps = [lambda o: o(1), lambda o: o(1), lambda o: o(2)]
    told = [space["several"](wrap(space["counted"](double)), 2, *steps)[2] for wrap in (lambda f: f, functools.cache)]
    assert told == [[1, 1, 1], [0, 0, 0]]
    assert space["counted"](3) == 3 and space["counted"](len) is len


def double(value: int) -> int:
    return 2 * value


def test_odd_items_are_put_into_what_takes_items() -> None:
    """A cache whose `popitem` asks `if key:` is wrong for such a key alone."""
    space: dict[str, Any] = {}
    exec(HELPER, space)
    assert space["filled"]({1: 2}) == {1: 2, None: 0, "": 0, 0: 0} and space["filled"]([5]) == [0]
    assert space["filled"](7) == 7
    made = sequences(["m.Box({}).get(1)", "m.Box({}).pop(1)"], [], 3)
    assert 0 < sum(f"{SEQUENCE}.filled(m.Box(" in one for one in made) < len(made)


def test_a_changed_method_is_a_step_though_no_call_of_a_test_shows_it() -> None:
    """Tests call `cache.popitem()` on what several statements made."""
    made = sequences([*CALLS, "m.Third().go(1)", "m.Third().stop()"], [], 1, [("Box", "popitem")])
    assert len(made) / 4 < sum("m.Box(" in one and "lambda o: o.popitem()" in one for one in made) < len(made)
    assert 0 < sum("m.Third(" in one for one in made) < len(made) / 2
