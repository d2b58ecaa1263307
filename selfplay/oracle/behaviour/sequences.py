"""Sequences: what a call returned, an object or a function, as the tests do, used in random order, some of it many
times.

What is wrong with a state shows only after several steps, and what is wrong with a returned function only when it is
called. A step that returns another object of the same type, such as a copy, goes on with that one.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from selfplay.oracle import inside
from selfplay.oracle.behaviour.call_probes import LONGEST
from selfplay.oracle.behaviour.call_source import call_tree, give_through, name_of

SEQUENCES, SEQUENCE_STEPS, DIFFERENT = 80, 12, 3
"""Limits: sequences made, the steps of one, and how many different numbers and texts these have."""
FILLED = (0.25, 0.5)
"""How often an object gets odd items first, if it takes items by keys: any, and one of which a method is changed."""
TIMES = (1, 1, 8, 60)
"""How often a sequence is repeated with the same object; the results of the last time are seen."""
SEQUENCE = "selfplay_t"
"""The name of the helper in calls."""
HELPER = inside.text("selfplay_several.py")


@dataclass
class _Subject:
    """What is made by calls of one function or class: their sources, and how what they return is used, as it follows
    an object: name of the method, or nothing -> sources."""

    made: dict[str, None] = field(default_factory=dict)
    used: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))


def sequences(
    calls: Sequence[str], more: Sequence[str], seed: int, changed: Sequence[tuple[str, str]] = ()
) -> list[str]:
    """Sequences, as calls of the helper, taking what is used in turn. What is used is made as in `calls`, the tests';
    how it is used is taken from these and from `more`. `changed`: classes with a method that the bug changes and that
    needs nothing else: half of the sequences are of these, and ask for it; tests call it on objects that no call alone
    makes."""
    chance, found = random.Random(seed), dict[str, None]()
    every, own = _subjects([*calls, *more]), _subjects(calls)
    known = {name: (every[name], [*one.made]) for name, one in own.items() if _has_steps(every[name])}
    asked = {name: [method for owner, method in changed if name.endswith(f".{owner}")] for name in known}
    asked = {name: methods for name, methods in asked.items() if methods}
    for turn in range(3 * SEQUENCES if known else 0):
        names = [*asked] if asked and turn % 2 else [*known]
        name = names[turn // 2 % len(names)] if asked else names[turn % len(names)]
        one, things = known[name]
        methods = chance.sample([*one.used], min(len(one.used), chance.choice((3, SEQUENCE_STEPS))))
        steps = [f"o{chance.choice([*one.used[method]])}" for method in chance.choices(methods, k=SEQUENCE_STEPS)]
        if name in asked and turn % 2:
            steps.insert(chance.randrange(len(steps) + 1), f"o.{chance.choice(asked[name])}()")
        told = ", ".join(f"lambda o: {step}" for step in _alike(steps, chance))
        thing = _counted(chance.choice(things))
        thing = f"{SEQUENCE}.filled({thing})" if chance.random() < FILLED[name in asked] else thing
        made = f"{SEQUENCE}.several({thing}, {chance.choice(TIMES)}, {told})"
        if len(made) <= LONGEST and len(found) < SEQUENCES:
            found[made] = None
    return [*found]


def _has_steps(thing: _Subject) -> bool:
    """Whether several steps show more than one: with a method alone they do not, with a returned function they do."""
    return len(thing.used) > 1 or "" in thing.used


def _counted(thing: str) -> str:
    """The source of a thing, with the functions that it is made of in the helper's `counted`."""
    tree = call_tree(thing)
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
        give_through(call, f"{SEQUENCE}.counted")
    return ast.unparse(tree)


def _alike(steps: Sequence[str], chance: random.Random) -> list[str]:
    """The steps with few different numbers and texts in all, so that they concern the same things."""
    trees = [call_tree(step) for step in steps]
    places = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    for kind in (int, str):
        some = sorted({node.value for node in places if type(node.value) is kind})
        few = chance.sample(some, min(len(some), DIFFERENT))
        for node in places:
            if type(node.value) is kind:
                node.value = chance.choice(few)
    return [ast.unparse(tree) for tree in trees]


def _subjects(calls: Sequence[str]) -> dict[str, _Subject]:
    found = defaultdict[str, _Subject](_Subject)
    for call in calls:
        tree = call_tree(call)
        used = tree.func if isinstance(tree, ast.Call) else tree
        thing = used.value if isinstance(used, ast.Attribute) else used
        if isinstance(thing, ast.Call):
            source, method = ast.unparse(thing), used.attr if isinstance(used, ast.Attribute) else ""
            one = found[name_of(thing)]
            one.made[source] = one.used[method][ast.unparse(tree).removeprefix(source)] = None
    return found
