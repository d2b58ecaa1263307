"""Calls in which something is used again: what a call returns is asked for more, one object stands in two places.

Tests ask for one thing at a time, and write each of their inputs out: what a program does with an object that it has
met before, or hands on to what it returns, shows in none of their calls.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

from selfplay.oracle.behaviour.call_changes import KIN_NAMES
from selfplay.oracle.behaviour.call_source import Place, call_tree, get_input, name_of, places, set_input

SAME_WORD = 0.6
"""How often a use asks for a text that the call holds."""
SHARED_NAME = "selfplay_o"
"""The name of an object that stands in two places."""


def followed(call: str, other: str, chance: random.Random) -> str:
    """What the call returns, or the object that it is made of, used as the other call uses what it returns
    (`.get('a')`), in its last step or in more."""
    made, own = _steps(call_tree(call)), _steps(call_tree(other))
    words = [one.value for one in ast.walk(made[0]) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    step = own[chance.randrange(1, len(own)) - 1]
    for one in ast.walk(own[0]) if words and chance.random() < SAME_WORD else ():
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            one.value = chance.choice(words)
    if isinstance(step, ast.Call) and isinstance(step.func, ast.Attribute):
        step.func.value = chance.choice((made[0], made[-1]))
    return ast.unparse(own[0])


def uses_in(calls: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """The calls of what other calls return: what makes the object -> name of the last step -> calls."""
    found = defaultdict[str, dict[str, list[str]]](lambda: defaultdict(list))
    for call in calls:
        steps = _steps(call_tree(call))
        if len(steps) > 1:
            found[name_of(steps[-1])][getattr(getattr(steps[0], "func", None), "attr", "")].append(call)
    return found


def used_otherwise(call: str, uses: Mapping[str, Mapping[str, Sequence[str]]], chance: random.Random) -> str | None:
    """What the call returns used as one of these; None if there is none of such an object."""
    own = uses.get(name_of(_steps(call_tree(call))[-1]))
    return followed(call, chance.choice(own[chance.choice([*own])]), chance) if own else None


def _steps(tree: ast.expr) -> list[ast.expr]:
    """A call, that on whose result it is made, and so on, to the one that makes the object."""
    found = [tree]
    while isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and isinstance(tree.func.value, ast.Call):
        tree = tree.func.value
        found.append(tree)
    return found


def shared(call: str, chance: random.Random) -> str | None:
    """The call with one of its containers in the place of another input, too; None if it has no two such places."""
    tree = call_tree(call)
    every = sorted(places(tree), key=lambda place: _where(get_input(*place)))
    pairs = [(one, other) for at, one in enumerate(every) for other in every[at + 1 :] if _can_share(one, other)]
    if not pairs or SHARED_NAME in call:
        return None
    first, second = chance.choice(pairs)
    held = chance.choice([one for place in (first, second) if _is_container(one := get_input(*place))])
    set_input(*second, ast.Name(SHARED_NAME, ast.Load()))
    set_input(*first, ast.NamedExpr(ast.Name(SHARED_NAME, ast.Store()), held))
    return ast.unparse(ast.fix_missing_locations(tree))


def derived(call: str, chance: random.Random) -> str | None:
    """The call with one of the project's objects in it made of a class that derives from its own; None if it makes
    none."""
    tree = call_tree(call)
    makers = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_class(node.func)]
    if not makers:
        return None
    node = chance.choice(sorted(makers, key=_where))
    base = ast.unparse(node.func)
    node.func = call_tree(f"type({chance.choice(KIN_NAMES)!r}, ({base},), {{}})")
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_class(node: ast.expr) -> bool:
    """Whether it is a class, by its name, in a module."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr[:1].isupper()


def _where(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _is_container(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Dict)


def _can_share(first: Place, second: Place) -> bool:
    """Whether one is a container, neither is a key, and the first ends before the second begins."""
    one, other = get_input(*first), get_input(*second)
    apart = (one.end_lineno, one.end_col_offset) <= _where(other)
    return apart and "keys" not in (first[1], second[1]) and (_is_container(one) or _is_container(other))
