"""Tells calls with an input of a sort that no known call of the tests has in that place: another type, an empty or a
negative one.

What a program does with such an input is nowhere said: the original may return for `wrapped("", -1)` only because it
never looks at the second argument, and a repair by another algorithm may refuse it.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping

from selfplay.oracle.behaviour.call_effects import of_another_kind, usual_form
from selfplay.oracle.behaviour.call_source import call_tree, is_type, name_of, value_of

Sort = tuple[str, str]
"""Where an input is (the called function and its argument; all items of a container are one place), and its sort."""


def unusual(calls: Mapping[str, str], shown: Iterable[str]) -> frozenset[str]:
    """The names of the calls with an input of a sort that no call of the tests has in its place. `calls`: name -> call;
    `shown`: the tests' calls."""
    known = {sort for call in shown for sort in sorts_of(call)}
    return frozenset(
        name for name, call in calls.items()
        if not known.issuperset(sorts_of(call)) or of_another_kind(call_tree(call))
    )  # fmt: skip


def of_another_type(calls: Mapping[str, str], shown: Iterable[str]) -> frozenset[str]:
    """The names of the calls in which an argument, not an item of one, has a type that no call of the tests has in its
    place. The original answers them by chance, so they are no kind of input of their own."""
    known = {one for call in shown for one in _types(call)}
    return frozenset(name for name, call in calls.items() if not known.issuperset(_types(call)))


def _types(call: str) -> set[Sort]:
    return {(place, sort.split()[0]) for place, sort in sorts_of(call) if not place.endswith(" item")}


def sorts_of(call: str) -> Iterator[Sort]:
    """Every input of a call with its place."""
    left: list[tuple[str, ast.expr]] = [("", usual_form(call_tree(call)))]
    while left:
        place, node = left.pop()
        if isinstance(node, ast.Call):
            called = name_of(node, derived=True)  # what takes an object takes those of derived classes
            if place:
                yield place, called or "function"
            left += [(f"{called} {at}", one) for at, one in enumerate(node.args)]
            left += [(f"{called} {one.arg}", one.value) for one in node.keywords]
            left += [] if is_type(node.func) else [("", node.func)]
        elif isinstance(node, ast.Attribute | ast.Subscript):
            left.append(("", node.value))
        elif place:
            value = value_of(node)
            yield place, _sort(value)
            some = isinstance(value, ast.AST) and not isinstance(value, ast.Lambda)
            within = ast.iter_child_nodes(node) if some else ()
            left += [(f"{place} item", one) for one in within if isinstance(one, ast.expr)]


def _sort(value: object) -> str:
    """The type of an input, and whether it is empty or negative; a truth value is neither. `value`: a constant, or the
    tree of anything else."""
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        empty = not value.elts
    else:
        empty = not value.keys if isinstance(value, ast.Dict) else not value
    empty = empty and not isinstance(value, bool)
    below = isinstance(value, int | float) and value < 0
    return f"{type(value).__name__}{' negative' if below else ' empty' if empty else ''}"
