"""Calls in which one thing alone is out of the ordinary: an object of the project's is of a class that derives from its
own, a value is false, numbers are tiny or huge, each alone or one of both sorts.

Chance seldom draws these, least of all in the one call where it shows; a repair that asks for an exact class, for the
truth of what may be 0, or computes in floats answers every other call as the original does. They are all kept.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from selfplay.oracle.behaviour.call_changes import NOTHING
from selfplay.oracle.behaviour.call_probes import LONGEST
from selfplay.oracle.behaviour.call_reuse import derived
from selfplay.oracle.behaviour.call_source import call_tree, constant, get_input, places, set_input, target_of, value_of

SINGLE, MOST = "selfplay_n", 40
"""The prefix of their names; how many there are of a kind."""
TURNS = 6
"""How often a change is tried for each that is wanted."""
TINY, HUGE = (1, 7, 1.2e-05, 1e-06, 0.1), (900_000, 123_456_789, 10**9, 10**12, 10**15 + 1)
_ONE_ALONE = 0.5
"""How often one number alone is changed."""
Single = Callable[[str, random.Random], str | None]


def single_changes(calls: Sequence[str], seed: int) -> list[str]:
    """Calls made of these, of each called function and each kind in turn."""
    chance, groups = random.Random(seed), defaultdict[str, list[str]](list)
    for call in calls:
        groups[target_of(call)].append(call)
    found = dict[str, None]()
    for change in (derived, false, numbers):
        found |= dict.fromkeys(_made(change, [*groups.values()], chance))
    return [one for one in found if one not in calls]


def _made(change: Single, groups: Sequence[Sequence[str]], chance: random.Random) -> Iterator[str]:
    turns = range(TURNS * MOST if groups else 0)
    made = (change(chance.choice(groups[turn % len(groups)]), chance) for turn in turns)
    return islice((one for one in made if one is not None and len(one) <= LONGEST), MOST)


def false(call: str, chance: random.Random) -> str | None:
    """The call with something false in the place of one value; None if it has no value."""
    tree = call_tree(call)
    found = [*places(tree)]
    if not found:
        return None
    set_input(*chance.choice(found), constant(chance.choice(NOTHING)))
    return ast.unparse(ast.fix_missing_locations(tree))


def numbers(call: str, chance: random.Random) -> str | None:
    """The call with one of its numbers huge or tiny, or with a huge and a tiny one; None if it has no number."""
    tree = call_tree(call)
    found = [place for place in places(tree) if type(value_of(get_input(*place))) in (int, float)]
    if not found:
        return None
    first, *others = chance.sample(found, len(found))
    alone = not others or chance.random() < _ONE_ALONE
    set_input(*first, constant(chance.choice((*HUGE, *TINY) if alone else HUGE)))
    for other in others[:1] if not alone else ():
        set_input(*other, constant(chance.choice(TINY)))
    return ast.unparse(ast.fix_missing_locations(tree))
