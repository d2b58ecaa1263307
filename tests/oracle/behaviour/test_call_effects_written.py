"""How the ways of looking at what a call does are written into the call, and read back."""

import ast
import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from selfplay.oracle import inside
from selfplay.oracle.behaviour.call_effects import EFFECTS, HELPER, looked_at, of_another_kind, usual_form
from selfplay.oracle.behaviour.unusual_inputs import unusual

CALLS = (
    "m.f('a', k=2)",
    "m.C(3).put(lambda x: x, [1])",
    "m.curry(m.g)('b')",
    "m.f(*[1], **{'a': 2})",
    "m.cached({}, info=m.C(lambda x: m.g(x)))(m.g)(5).items()",
)


def test_each_way_of_looking_is_a_call_that_can_be_read_back() -> None:
    made = looked_at(CALLS, 1)
    assert {len(ast.parse(one, mode="eval").body.args) for one in made} == {2, 4, 5}  # type: ignore[attr-defined]
    back = {ast.unparse(ast.fix_missing_locations(usual_form(ast.parse(one, mode="eval").body))) for one in made}
    assert back == {ast.unparse(ast.parse(one)) for one in CALLS}


def counted(rule: Callable[[int], int]) -> Callable[[int], list[int]]:
    made = [0]

    def told(one: int) -> list[int]:
        made[0] += 1
        return [rule(one), *made]

    return told


def counted_late(rule: Callable[[int], int]) -> Callable[[int], list[int]]:
    made = [0]

    def told(one: int) -> list[int]:
        answer = rule(one)
        made[0] += 1
        return [answer, *made]

    return told


def test_a_function_that_a_decorator_was_given_fails_and_is_told_of() -> None:
    """As the call is written: what a call returned is called."""
    made = [one for one in looked_at(["m.counted(lambda x: x)(3)"], 1) if one.endswith(", -1, 0, 1)")]
    assert made == [f"{EFFECTS}.effects(lambda o, *a, **k: o(*a, **k), "
                    f"lambda: {EFFECTS}.given(m.counted({EFFECTS}.within(lambda x: x)), 3), -1, 0, 1)"]  # fmt: skip
    seen, space = list[str](), dict[str, Any]()
    space["selfplay_saw"] = lambda value: seen.append(str(space["selfplay_plain"](value, 5)))
    exec(inside.text("selfplay_plain.py") + HELPER, space)
    for kind in (counted, counted_late):
        helper = SimpleNamespace(**space)
        eval(made[0], {EFFECTS: helper, "m": SimpleNamespace(counted=kind)})
    assert seen[0] == seen[6] and "Failed" in seen[0]
    assert "['int', '3']" in seen[5], "the function tells of its call"


def test_the_call_is_the_one_that_is_looked_at() -> None:
    """Evaluated with a helper that only calls."""

    def effects(function: Callable[..., Any], make: Callable[[], Any], *_: int) -> Any:
        values, named = make()
        return function(*values, **named)

    def given(*values: Any, **named: Any) -> Any:
        return values, named

    def told(*values: Any, **named: Any) -> Any:
        return values, named

    def curried(rule: Any) -> Any:
        return functools.partial(told, rule)

    class Shelf:
        def __init__(self, size: int) -> None:
            self.size = size

        def put(self, rule: Any, items: list[int]) -> Any:
            return self.size, [rule(one) for one in items]

    def cached(*_: Any, **__: Any) -> Any:
        return lambda rule: lambda one: {one: rule}

    module = SimpleNamespace(f=told, g=1, C=Shelf, curry=curried, cached=cached)
    space = {"m": module, EFFECTS: SimpleNamespace(effects=effects, given=given, within=lambda one: one)}
    for made in looked_at(CALLS, 1):
        tree = ast.fix_missing_locations(ast.Expression(usual_form(ast.parse(made, mode="eval").body)))
        assert eval(made, space) == eval(compile(tree, "", "eval"), space)


def test_only_an_argument_of_another_type_is_unusual() -> None:
    made = dict(enumerate(looked_at(CALLS, 1)))
    calls = {str(at): call for at, call in made.items()}
    other = {name for name, call in calls.items() if of_another_kind(ast.parse(call, mode="eval").body)}
    assert other
    assert unusual(calls, CALLS) == other
