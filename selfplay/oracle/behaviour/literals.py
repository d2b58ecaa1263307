"""Varies the literals in a test: inputs near the known ones, which the solver has not seen."""

import ast
import copy
import random
from collections.abc import Iterator, Sequence

from selfplay.oracle.rewriting.python_trees import Function

CHARACTERS = " \t\n,;:.-_'\"()[]{}<>/\\#=+*%&aZ09é"
NAMED = ("match", "id", "ids", "reason", "msg", "marks", "encoding")
"""Keyword arguments whose literals are not inputs."""
EQUALITY = ("assertEqual", "assertNotEqual", "assertIs", "assertIsNot", "assertAlmostEqual", "assertListEqual")
MODEST = 10_000
"""Larger numbers change only by one, since they may be sizes."""
LONGEST = 200


def varied(function: Function, chance: random.Random, pool: Sequence[str]) -> Function | None:
    """A copy of a test function with one or two literals changed; None for a test without literals.

    If it is parametrised with a literal list, only the changed case is kept. `pool`: other strings of the file."""
    made = copy.deepcopy(function)
    places = list(inputs(made))
    if not places:
        return None
    changed = chance.sample(places, min(len(places), chance.choice((1, 1, 1, 2))))
    for place in changed:
        place.value = another(place.value, chance, pool)  # type: ignore[assignment]
    cut_cases(made, changed, chance)
    return made


def cut_cases(function: Function, changed: Sequence[ast.Constant], chance: random.Random) -> None:
    """Keep one case of each literal list with which the test is parametrised."""
    for cases in _cases(function):
        _cut(cases, changed, chance)


def _cut(cases: ast.expr, changed: Sequence[ast.Constant], chance: random.Random) -> None:
    """Keep one case of a literal list: a changed one, if there is one."""
    if isinstance(cases, ast.List | ast.Tuple) and cases.elts:
        places = {id(place) for place in changed}
        other = [case for case in cases.elts if any(id(node) in places for node in ast.walk(case))]
        cases.elts = [chance.choice(other or cases.elts)]


def _cases(function: Function) -> Iterator[ast.expr]:
    """The lists of cases with which a test is parametrised."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "attr", "") == "parametrize":
            yield from decorator.args[1:2]


def strings(tree: ast.AST) -> list[str]:
    """The short strings in some code, in order."""
    found = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [value for value in dict.fromkeys(found) if isinstance(value, str) and 0 < len(value) <= LONGEST]


def another(value: object, chance: random.Random, pool: Sequence[str] = ()) -> object:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        near = (value + 1, value - 1)
        return chance.choice(near if abs(value) > MODEST else (*near, 0, -value, 2 * value + 1, value + 7))
    if isinstance(value, float):
        return chance.choice((value + 1, -value, value / 2, 0.0))
    if isinstance(value, bytes):
        return _string(value.decode("latin-1"), chance, ()).encode("latin-1", "replace")
    if isinstance(value, str):
        return _string(value, chance, pool)
    return value


def _string(text: str, chance: random.Random, pool: Sequence[str]) -> str:
    at = chance.randrange(len(text) + 1)
    character = chance.choice(CHARACTERS)
    near = [
        text[:at] + character + text[at:], text[:at] + text[at + 1 :], text.swapcase(), text[1:], text[:-1],
        text + character, character + text, text[at:] + text[:at],
    ]  # fmt: skip
    if text:
        near += [text.replace(text[at - 1], character), text[:at] + text[at - 1] + text[at:]]
    if len(text) <= LONGEST:
        near += [text + text, text + character + text]
    if pool:
        other = chance.choice(pool)
        near += [other, text + other, text + character + other]
    return chance.choice([one for one in near if one != text] or [text + character])


def inputs(function: Function) -> Iterator[ast.Constant]:
    """The literals of a test that may be changed: in its body and in its parametrised cases. What a claim expects is
    none: a probe records the value that the program gives."""
    expected = {id(node) for node in _expected(function)}
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    for part in (*_cases(function), *body):
        yield from (one for one in _literals(part) if id(one) not in expected)


def _expected(function: Function) -> Iterator[ast.AST]:
    """All nodes of what claims compare values with; not of membership, where they are asked for."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            asking = any(isinstance(one, ast.In | ast.NotIn) for one in node.test.ops)
            sides = [] if asking else [node.test.left, *node.test.comparators]
        else:
            sides = node.args if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in EQUALITY else []
        for side in sides:
            parts = [*ast.walk(side)]
            yield from () if any(isinstance(one, ast.Name | ast.Call) for one in parts) else parts


def _literals(node: ast.AST) -> Iterator[ast.Constant]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool | int | float | str | bytes):
            yield node
    elif not isinstance(node, ast.keyword) or node.arg not in NAMED:
        if isinstance(node, ast.FormattedValue):
            yield from _literals(node.value)
            return
        for child in ast.iter_child_nodes(node):
            yield from _literals(child)
