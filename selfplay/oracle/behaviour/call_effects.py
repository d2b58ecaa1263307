"""Calls that are looked at closely: what they do to their arguments and to the next call, and when they take and call
what they are given (`inside/selfplay_effects.py`); some with an argument of another type, or with functions that fail.

A wrong repair may answer as the original does and still hand out one list to all callers, keep its caller's dictionary,
read all of an iterator at once, or lose what it had taken when a function fails.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Sequence

from selfplay.oracle import inside
from selfplay.oracle.behaviour.call_probes import LONGEST, call_tree, name_of
from selfplay.oracle.behaviour.call_results import SCENARIO
from selfplay.oracle.behaviour.sequences import SEQUENCE

LOOKS = 120
"""Calls that are looked at closely, at most."""
EFFECTS = "selfplay_e"
"""The name of the helper in calls."""
HELPER = inside.text("selfplay_effects.py")
KINDS, CALLS = 4, 3
"""Other types tried for an argument, and numbers of the call at which a given function fails."""


def looked_at(calls: Sequence[str], more: Sequence[str], seed: int) -> list[str]:
    """Calls of the helper for `calls`, the tests', and for `more`: of each function in turn, in each of three ways."""
    chance, found = random.Random(seed), dict[str, None]()
    groups = defaultdict[str, list[str]](list)
    for call in dict.fromkeys((*calls, *more)):
        target = name_of(call_tree(call))
        if target and not target.startswith((SCENARIO, SEQUENCE, EFFECTS)):
            groups[target].append(call)
    for group in groups.values():
        chance.shuffle(group)
    targets = [*groups]
    for turn in range(4 * LOOKS if targets else 0):
        group = groups[targets[turn % len(targets)]]
        call = group[turn // len(targets) // 3 % len(group)]
        made = _looked_at(call, turn // len(targets) % 3, chance)
        if made is not None and len(made) <= LONGEST and len(found) < LOOKS:
            found[made] = None
    return [*found]


def _looked_at(call: str, way: int, chance: random.Random) -> str | None:
    """The call of the helper: as it is, with an argument of another type, or with functions that fail. None if it has
    no such arguments."""
    tree = call_tree(call)
    if not isinstance(tree, ast.Call):
        return None
    function, values = _parted(tree)
    made = [function, f"lambda: {EFFECTS}.given({', '.join([*values, *map(_named, tree.keywords)])})"]
    arguments = range(len(values) - len(tree.args), len(values))
    if way == 1:
        if not arguments or any(isinstance(one, ast.Starred) for one in tree.args):
            return None
        made += [f"{chance.choice(arguments)}", f"{chance.randrange(KINDS)}"]
    if way == 2:
        given = (*tree.args, *(one.value for one in tree.keywords))
        if not any(isinstance(one, ast.Lambda | ast.Name | ast.Attribute | ast.Call) for one in given):
            return None
        made += ["-1", "0", f"{chance.randint(1, CALLS)}"]
    return f"{EFFECTS}.effects({', '.join(made)})"


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
    if not (isinstance(tree, ast.Call) and name_of(tree) == f"{EFFECTS}.effects" and len(tree.args) > 1):
        return tree
    function, make = tree.args[:2]
    given = make.body if isinstance(make, ast.Lambda) else make
    if not isinstance(given, ast.Call):
        return tree
    if not isinstance(function, ast.Lambda):
        return ast.Call(function, given.args, given.keywords)
    called = function.body.func if isinstance(function.body, ast.Call) else function.body
    made: ast.expr = given.args[0]
    if isinstance(called, ast.Attribute):
        made = ast.Attribute(made, called.attr, ast.Load())
    return ast.Call(made, given.args[1:], given.keywords)


def of_another_kind(tree: ast.expr) -> bool:
    """Whether it is looked at with an argument of another type."""
    return isinstance(tree, ast.Call) and name_of(tree) == f"{EFFECTS}.effects" and len(tree.args) == 4
