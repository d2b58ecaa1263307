"""What a call does besides answering: each pair of functions answers the same and does something else."""

import ast
import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from exploits.projects import Lab, Project, write

from selfplay.oracle import inside
from selfplay.oracle.behaviour.call_effects import EFFECTS, HELPER, looked_at, of_another_kind, usual_form
from selfplay.oracle.behaviour.unusual_inputs import unusual
from selfplay.repository.suites.pytest_suite import PARSER, render_script
from selfplay.sandbox import Backend

LETTERS: list[str] = list("ab")


def pairs(one: list[int]) -> list[tuple[int, int]]:
    return [(value, value) for value in one]


def pairs_that_empties(one: list[int]) -> list[tuple[int, int]]:
    made = [(value, value) for value in one]
    one.clear()
    return made


def copied(one: list[int]) -> list[int]:
    return [*one]


def handed_back(one: list[int]) -> list[int]:
    return one


def fresh(one: int) -> list[str]:
    return list("ab") * one


def one_for_all(one: int) -> list[str]:
    return LETTERS


@functools.cache
def kept(one: int) -> list[str]:
    return list("ab") * one


def rows(one: int) -> list[list[int]]:
    return [[0] * one for _ in range(3)]


def one_row(one: int) -> list[list[int]]:
    return [[0] * one] * 3


def doubled(rule: Callable[[int], int], items: list[int]) -> Iterator[int]:
    for one in items:
        yield rule(one)


def doubled_at_once(rule: Callable[[int], int], items: list[int]) -> Iterator[int]:
    yield from [rule(one) for one in items]


def doubled_until_it_fails(rule: Callable[[int], int], items: list[int]) -> Iterator[int]:
    with contextlib.suppress(Exception):
        yield from (2 * rule(one) for one in items)


def doubled_without_the_last(rule: Callable[[int], int], items: list[int]) -> Iterator[int]:
    held = list[int]()
    for one in items:
        made = 2 * rule(one)
        yield from held
        held = [made]
    yield from held


def sums(rule: Callable[[int], int], items: list[int]) -> int:
    return sum(rule(one) for one in items)


def sums_backwards(rule: Callable[[int], int], items: list[int]) -> int:
    return sum(rule(one) for one in reversed(items))


def moved(rule: Callable[[int], int], items: list[int]) -> list[int]:
    """Takes an item away when it has its value."""
    made = []
    while items:
        made.append(rule(items[0]))
        del items[0]
    return made


def moved_too_early(rule: Callable[[int], int], items: list[int]) -> list[int]:
    made = []
    while items:
        made.append(rule(items.pop(0)))
    return made


def first(items: list[int]) -> int:
    return next(iter(items))


def first_of_all(items: list[int]) -> int:
    return sorted(items)[0]


def inverse(one: dict[str, int]) -> dict[int, str]:
    return {one[key]: key for key in one} if hasattr(one, "keys") else {}


def inverse_of_dict(one: dict[str, int]) -> dict[int, str]:
    return {one[key]: key for key in one} if isinstance(one, dict) else {}


def called_until_true(rule: Callable[[int], int], one: int) -> int:
    return rule(one) or rule(one)


def called_once(rule: Callable[[int], int], one: int) -> int:
    return rule(one)


def named_rule(rule: Callable[[int], int], one: int) -> int:
    return rule(one) if hasattr(rule, "__name__") else 0


def default_of(one: int | None) -> int:
    return 1 if one is None else 2


def default_of_equal(one: int | None) -> int:
    return 1 if one == None else 2  # noqa: E711


def ruled(rule: Callable[[int], int] | None, one: int) -> int:
    return one if rule is None else rule(one)


def ruled_unless_equal(rule: Callable[[int], int] | None, one: int) -> int:
    return one if rule == None else rule(one)  # type: ignore[misc]  # noqa: E711


def called(rule: Callable[[int], int], items: list[int]) -> list[int]:
    made = []
    for one in items:
        made.append(rule(one))
    return made


def called_in_a_generator(rule: Callable[[int], int], items: list[int]) -> list[int]:
    return list(rule(one) for one in items)  # noqa: C400


def called_while_found(rule: Callable[[int], int], items: list[int]) -> list[int]:
    with contextlib.suppress(KeyError):
        return called(rule, items)
    return []


def last_one(items: list[int]) -> int:
    return items[len(items) - 1]


def last_by_recursion(items: list[int]) -> int:
    return items[0] if len(items) == 1 else last_by_recursion(items[1:])


def extended(target: list[int], items: list[int]) -> None:
    target.extend([*items])


def extended_one_by_one(target: list[int], items: list[int]) -> None:
    for one in items:
        target.append(one)


def found_in(one: dict[str, int], key: str) -> int:
    return one[key]


def found_in_without_a_key(one: dict[str, int], key: str) -> int:
    if key not in one:
        raise KeyError("it is not there")
    return one[key]


def shown(function: Callable[..., Any], *values: Any, ways: tuple[int, ...] = ()) -> str:
    """What the helper shows of a call, as it is recorded."""
    seen, space = list[str](), dict[str, Any]()
    space["selfplay_saw"] = lambda value: seen.append(str(space["selfplay_plain"](value, 5)))
    exec(inside.text("selfplay_plain.py") + HELPER, space)

    def make() -> Any:
        return space["given"](*(eval(repr(one)) if type(one) in (list, dict) else one for one in values))

    with contextlib.suppress(KeyError, RecursionError):
        space["effects"](function, make, *ways)
    return "\n".join(seen)


def plus(one: int) -> int:
    return one + 1


@pytest.mark.parametrize(
    ("right", "wrong", "values", "ways"),
    [
        (pairs, pairs_that_empties, ([1, 2],), ()),
        (copied, handed_back, ([1, 2],), ()),
        (fresh, one_for_all, (1,), ()),
        (fresh, kept, (1,), ()),
        (rows, one_row, (2,), ()),
        (doubled, doubled_at_once, (plus, [1, 2]), (1, 2)),
        (doubled, doubled_until_it_fails, (plus, [1, 2]), (-1, 0, 2)),
        (doubled, doubled_without_the_last, (plus, [1, 2]), (-1, 0, 2)),
        (sums, sums_backwards, (plus, [1, 2]), ()),
        (moved, moved_too_early, (plus, [1, 2, 3]), (-1, 0, 2)),
        (first, first_of_all, ([1, 2],), (0, 2)),
        (inverse, inverse_of_dict, ({"a": 1},), (0, 2)),
        (called_once, called_until_true, (plus, 2), (0, 2)),
        (called_once, named_rule, (plus, 2), (0, 0)),
        (ruled, ruled_unless_equal, (plus, 2), (0, 0)),
        (called, called_in_a_generator, (plus, [1, 2]), (-1, 0, 4)),
        (called, called_while_found, (plus, [1, 2]), (-1, 0, 8)),
        (last_one, last_by_recursion, ([1, 2],), (0, 6)),
        (extended, extended_one_by_one, ([], [1, 2]), (1, 5)),
        (default_of, default_of_equal, (None,), (0, 0)),
        (found_in, found_in_without_a_key, ({"a": 1}, "b"), ()),
    ],
)
def test_two_functions_with_one_answer_differ_in_what_they_do(
    right: Callable[..., Any], wrong: Callable[..., Any], values: tuple[Any, ...], ways: tuple[int, ...]
) -> None:
    assert shown(right, *values, ways=ways) == shown(right, *values, ways=ways)
    assert shown(right, *values, ways=ways) != shown(wrong, *values, ways=ways)


def test_what_is_put_into_a_result_is_taken_out_again() -> None:
    shown(one_for_all, 1)
    assert list("ab") == LETTERS


def test_what_is_taken_out_again_is_what_was_put_in_not_what_is_equal_to_it() -> None:
    class Any(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            return True

    kept = [Any("a"), "b"]
    shown(lambda one: kept, 1)
    assert [str(one) for one in kept] == ["a", "b"]


def test_an_error_is_raised_once_all_is_shown_but_not_one_that_was_asked_for() -> None:
    with pytest.raises(ZeroDivisionError):
        shown(lambda one: 1 // one, 0)
    assert "Failed" in shown(sums, plus, [1], ways=(-1, 0, 1))


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


SORTING = '''"""Sorts things."""


def grouped(rule, items):
    """The items by what the rule says of each."""
    found = {}
    for one in items:
        found.setdefault(rule(one), []).append(one)
    return found
'''
TESTS = """from sorting import grouped


def test_grouped():
    assert grouped(len, ["a", "bb", "c"]) == {1: ["a", "c"], 2: ["bb"]}
    assert grouped(lambda x: x % 3, [1, 2, 3, 4]) == {1: [1, 4], 2: [2], 0: [3]}


def test_none():
    assert grouped(len, []) == {}
"""
NAME = "tests/test_sorting.py"
BROKEN = SORTING.replace("found.setdefault(rule(one), []).append(one)", "found[rule(one)] = [one]")
AT_ONCE = SORTING.replace("    for one in items:", "    for one in [*items]:")
CALLED_TWICE = SORTING.replace("found.setdefault(rule(one), [])", "found.setdefault(rule(one) and rule(one), [])")


@pytest.mark.slow
def test_a_repair_that_answers_the_same_and_does_something_else_is_weakly_assured(
    backend: Backend, tmp_path: Path
) -> None:
    files = {"sorting.py": SORTING, NAME: TESTS, "pyproject.toml": "[project]\nname='sorting'\nversion='1'\n"}
    project = Project(
        files, ("sorting.py", BROKEN), {NAME: TESTS.replace('== {1: ["a", "c"], 2: ["bb"]}', "!= {}")
                                        .replace("== {1: [1, 4], 2: [2], 0: [3]}", "!= {}")},
        render_script([NAME]), PARSER, (f"{NAME}::test_grouped",), (f"{NAME}::test_none",),
    )  # fmt: skip
    lab = Lab("python", backend, tmp_path, project)
    fixed, *wrong = (
        lab.grade(lab.diff(lambda root, text=text: write(root, {"sorting.py": text})))
        for text in (SORTING, AT_ONCE, CALLED_TWICE)
    )
    assert fixed.resolved and not any("differential" in one for one in fixed.weaknesses)
    for one in wrong:
        assert one.resolved and any(said.startswith("differential: it does something") for said in one.weaknesses), one
