"""Kinds of inputs that must each be right: a program that is wrong only for one kind, such as long texts, or in one
branch, is right on nearly all other calls.

A kind counts if enough of its calls tell the original from the buggy program. Large, long, many and foreign inputs, and
None among items, count for any program; empty values, negative and broken numbers only if tests use them, since
otherwise their results may be unspecified.
"""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from selfplay.oracle.behaviour.call_source import call_tree, get_input, places, value_of

ENOUGH_OF_A_KIND, MOST_MORE = 3, 16
"""Enough calls of a kind, and the most extra calls made to reach that number."""
LONG, LARGE, MANY = 60, 1000, 12
NOTHING = "None among items"
_ANYWHERE = frozenset({"long texts", "texts of other letters", "large numbers", "many items", NOTHING})


def kinds_of(call: str) -> frozenset[str]:
    """The kinds of inputs of a call."""
    tree = call_tree(call)
    found = frozenset(kind for place in places(tree) for kind in _kinds(get_input(*place)))
    items = (get_input(*place) for place in places(tree) if isinstance(place[0], ast.List | ast.Tuple))
    return found | {NOTHING for one in items if value_of(one) is None}


def _kinds(node: ast.expr) -> Iterator[str]:
    value = value_of(node)
    if isinstance(value, str | bytes):
        said = {"long texts": len(value) >= LONG, "texts of other letters": not value.isascii(), "empty": not value}
    elif isinstance(value, int | float) and not isinstance(value, bool):
        said = {"large numbers": abs(value) >= LARGE, "negative numbers": value < 0, "empty": not value,
                "broken numbers": isinstance(value, float)}  # fmt: skip
    elif isinstance(value, ast.List | ast.Tuple):
        said = {"many items": len(value.elts) >= MANY, "empty": not value.elts}
    else:
        return
    yield from (kind for kind, is_so in said.items() if is_so)


def strata(
    calls: Mapping[str, str], lines: Mapping[str, str], shown: Iterable[str], known: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Kind -> the names of its calls, for each kind with enough of them. `calls`: name -> call; `lines`: name -> the
    lines that run; `shown`: calls of the tests; `known`: the `lines` of those. Lines that no test runs do not form a
    kind: their behaviour may be unspecified, and another repair may differ there."""
    counted = _ANYWHERE.union(*map(kinds_of, shown))
    found = defaultdict[str, list[str]](list)
    for name, call in calls.items():
        for kind in sorted(kinds_of(call) & counted):
            found[kind].append(name)
        if lines.get(name) in known:
            found[f"lines {lines[name]}"].append(name)
    return {kind: tuple(names) for kind, names in found.items() if len(names) >= ENOUGH_OF_A_KIND}


def lacking(found: Mapping[str, Collection[str]], kept: Collection[str]) -> list[str]:
    """Calls to add to those that are kept, so that there are enough of each kind."""
    more = list[str]()
    for names in sorted(found.values(), key=len):
        here = sum(name in kept or name in more for name in names)
        others = [name for name in names if name not in kept and name not in more]
        more += others[: max(0, ENOUGH_OF_A_KIND - here)]
    return more[:MOST_MORE]
