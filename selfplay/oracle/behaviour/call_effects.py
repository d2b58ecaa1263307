"""Calls that are looked at closely: what they do to their arguments and to the next call, and when they take and call
what they are given (`inside/selfplay_effects.py`); some with an argument of another type, or with functions that fail.

A wrong repair may answer as the original does and still hand out one list to all callers, keep its caller's dictionary,
read all of an iterator at once, or lose what it had taken when a function fails.
"""

import ast
import copy
import random
from collections import defaultdict
from collections.abc import Sequence

from selfplay.oracle import inside
from selfplay.oracle.behaviour.call_probes import LONGEST
from selfplay.oracle.behaviour.call_results import SCENARIO
from selfplay.oracle.behaviour.call_source import NAMED, call_tree, give_through, name_of
from selfplay.oracle.behaviour.sequences import SEQUENCE

LOOKS = 150
"""Calls that are looked at closely, at most."""
EFFECTS = "selfplay_e"
"""The name of the helper in calls."""
HELPER = "\n\n".join(map(inside.text, ("selfplay_in_place.py", "selfplay_effects.py")))
KINDS, BELOW, FAILURES = 7, 2, 18
"""Other types tried for an argument, of which the first so many are below its own, and ways in which a given function
fails: at one of three calls, with one of six errors."""
_FUNCTIONS = (*NAMED, ast.Call)
"""What may be a function; a call is looked into."""
MANY = 10_000
"""Among so many, each place, type and failure is drawn as often."""
WAYS = 3
"""As it is, with an argument of another type, with functions that fail."""


def looked_at(calls: Sequence[str], seed: int) -> list[str]:
    """Calls of the helper for these calls: of each function in turn, in each way."""
    chance, found = random.Random(seed), dict[str, None]()
    groups = defaultdict[str, list[str]](list)
    for call in dict.fromkeys(calls):
        target = name_of(call_tree(call))
        if target and not target.startswith((SCENARIO, SEQUENCE, EFFECTS)):
            groups[target].append(call)
    targets = [*groups]
    for group in groups.values():
        chance.shuffle(group)
    for turn in range(4 * LOOKS if targets else 0):
        group, number = groups[targets[turn % len(targets)]], turn // len(targets)
        made = _looked_at(group[number // WAYS % len(group)], number % WAYS, chance.randrange(MANY))
        if made is not None and len(made) <= LONGEST and len(found) < LOOKS:
            found[made] = None
    return [*found]


def _looked_at(call: str, way: int, number: int) -> str | None:
    """The call of the helper, in this way; `number` says with which argument of which other type, or when functions
    fail. None if it has no such arguments."""
    tree = call_tree(call)
    if not isinstance(tree, ast.Call):
        return None
    function, values = _parted(_told_within(tree))
    made = [function, f"lambda: {EFFECTS}.given({', '.join([*values, *map(_named, tree.keywords)])})"]
    given = (*tree.args, *(one.value for one in tree.keywords))
    if way == 1:
        if not given or any(isinstance(one, ast.Starred) for one in tree.args):
            return None
        place = len(values) - len(tree.args) + number % len(given)
        made += [f"{place}", f"{number // len(given) % KINDS}"]
    if way == 2:
        if not any(isinstance(one, _FUNCTIONS) for call in _calls_in(tree) for one in _given(call)):
            return None
        made += ["-1", "0", f"{1 + number % FAILURES}"]
    return f"{EFFECTS}.effects({', '.join(made)})"


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]


def _calls_in(tree: ast.AST) -> list[ast.Call]:
    """The calls in an expression, but those that a function in it makes when it is called."""
    found, left = list[ast.Call](), [tree]
    while left:
        node = left.pop()
        if not isinstance(node, ast.Lambda):
            found += [node] if isinstance(node, ast.Call) else []
            left += ast.iter_child_nodes(node)
    return found


def _told_within(tree: ast.Call) -> ast.Call:
    """The call with each function that an inner one is given in the helper's `within`. Changes the tree."""
    for call in _calls_in(tree):
        if call is not tree and name_of(call) != f"{EFFECTS}.within":
            give_through(call, f"{EFFECTS}.within")
    return tree


class _Unwrapped(ast.NodeTransformer):
    """Takes `within` away again."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return node.args[0] if name_of(node) == f"{EFFECTS}.within" else node


def _parted(tree: ast.Call) -> tuple[str, list[str]]:
    """The source of the called function and of its arguments by position. What a call returned, and whose method is
    called or which is called itself, is the first argument."""
    values = [ast.unparse(one) for one in tree.args]
    made = tree.func.value if isinstance(tree.func, ast.Attribute) else tree.func
    if not any(isinstance(one, ast.Call) for one in ast.walk(tree.func)):
        return ast.unparse(tree.func), values
    method = f".{tree.func.attr}" if isinstance(tree.func, ast.Attribute) else ""
    return f"lambda o, *a, **k: o{method}(*a, **k)", [ast.unparse(made), *values]


def _named(one: ast.keyword) -> str:
    return ast.unparse(ast.Call(ast.Name(""), [], [one])).removeprefix("(").removesuffix(")")


def usual_form(tree: ast.expr) -> ast.expr:
    """The call itself, of one that is looked at closely; any other as it is."""
    match [_Unwrapped().visit(one) for one in copy.deepcopy(_way(tree))]:
        case [
            ast.Lambda(body=ast.Call(func=called)),
            ast.Lambda(body=ast.Call(args=[thing, *args], keywords=named)),
            *_,
        ]:
            made = ast.Attribute(thing, called.attr, ast.Load()) if isinstance(called, ast.Attribute) else thing
            return ast.Call(made, args, named)
        case [function, ast.Lambda(body=ast.Call(args=args, keywords=named)), *_]:
            return ast.Call(function, args, named)
    return tree


def of_another_kind(tree: ast.expr) -> bool:
    """Whether it is looked at with an argument of a type that is not below the argument's own."""
    way = _way(tree)
    return len(way) == 4 and int(ast.unparse(way[3])) >= BELOW


def _way(tree: ast.expr) -> list[ast.expr]:
    """What the helper is given: function, arguments, place, kind, number; nothing for any other call."""
    return tree.args if isinstance(tree, ast.Call) and name_of(tree) == f"{EFFECTS}.effects" else []
