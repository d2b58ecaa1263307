"""Call probes: calls with inputs far from those of the tests, made by changing calls that the tests make.

Inputs are changed, taken from other calls, grown, emptied, made extreme, converted to another type, or get what the
code asks for. Most results show nothing; only those on which the original and the buggy program differ are kept.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from selfplay.oracle.behaviour.call_changes import CHANGES, Change, asked, kind_of
from selfplay.oracle.behaviour.call_source import (
    call_tree,
    get_input,
    inputs_of,
    places,
    set_input,
    target_of,
)

LONGEST, REORDERED = 3000, 0.3
"""The longest call, in characters; how often named arguments are given in the other order."""


def shape_of(source: str) -> str:
    """What similar calls have in common: the called function, the types of inputs, and the approximate length."""
    tree = call_tree(source)
    kinds = sorted({kind_of(node).__name__ for node in inputs_of(tree)})
    return f"{target_of(source)} {' '.join(kinds)} {len(source).bit_length()}"


def by_novelty(sources: Mapping[str, str], shown: Iterable[str]) -> list[str]:
    """The names of the calls, sorted by the share of their four-character pieces that no call of the tests contains,
    largest first."""
    known = {piece for source in shown for piece in _pieces(source)}

    def share(name: str) -> float:
        pieces = _pieces(sources[name])
        return len(pieces & known) / max(1, len(pieces))

    return sorted(sources, key=share)


def _pieces(source: str) -> set[str]:
    return {source[at : at + 4] for at in range(len(source) - 3)}


def varied_calls(
    calls: Sequence[str], others: Sequence[str], most: int, seed: int, values: Sequence[str | int] = ()
) -> list[str]:
    """At most `most` variants of `calls`, with inputs taken from `others`, alternating between called functions and
    kinds of change. `values`: what the code asks for (`changed_code.py`). The same arguments give the same calls."""
    chance = random.Random(seed)
    groups, pool = _by_target(calls), _by_target(others)
    seen = {ast.unparse(call_tree(call)) for call in (*calls, *others)}
    known: dict[str, Change] = {**CHANGES, "asked": partial(asked, values)} if values else CHANGES
    often = ("asked", "asked") if values else ()  # what no other change finds
    found, targets, kinds = list[str](), sorted(groups), (*known, "crossed", *often)
    for turn in range(4 * most if targets else 0):
        target = targets[turn % len(targets)]
        change = known[kinds[(turn // len(targets)) % len(kinds)]]
        other = chance.choice(pool.get(target) or groups[target])
        made = _changed(chance.choice(groups[target]), other, change, chance)
        if made is not None and made not in seen and len(made) <= LONGEST:
            seen.add(made)
            found.append(made)
        if len(found) == most:
            break
    return found


def _by_target(calls: Sequence[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for source in calls:
        groups[target_of(source)].append(source)
    return groups


def _changed(call: str, other: str, change: Change, chance: random.Random) -> str | None:
    """The call with one to three of its inputs changed. `other`: a call whose inputs may take their place."""
    made, offered = call_tree(call), [*inputs_of(call_tree(other))]
    if chance.random() < REORDERED:
        for one in [node for node in ast.walk(made) if isinstance(node, ast.Call)]:
            one.keywords.reverse()
    for _ in range(chance.choice((1, 1, 2, 3))):
        found = list(places(made))
        if not found:
            return None
        parent, name, at = chance.choice(found)
        node = get_input(parent, name, at)
        new = change(node, chance.choice(offered or [node]), chance)
        if new is not None:
            set_input(parent, name, at, new)
    return ast.unparse(ast.fix_missing_locations(made))
