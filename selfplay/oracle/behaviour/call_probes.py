"""Call probes: calls with inputs far from those of the tests, made by changing calls that the tests make.

Inputs are changed, taken from other calls, grown, emptied, made extreme, converted to another type, or get what the
code asks for. Most results show nothing; only those on which the original and the buggy program differ are kept.
"""

import ast
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from selfplay.oracle.behaviour.call_changes import CHANGES, Change, asked, kind_of
from selfplay.oracle.behaviour.call_options import MOST_OF_A_CALL, Options, with_option
from selfplay.oracle.behaviour.call_reuse import shared, used_otherwise, uses_in
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
OPTION, FOLLOWED, SHARED = "option", "followed", "shared"
"""Changes of a whole call: an option more (`call_options.py`), after which it is changed otherwise, too, and what uses
something again (`call_reuse.py`)."""
WHOLE = (OPTION, OPTION, OPTION, FOLLOWED, FOLLOWED, SHARED)
"""How often their turns come."""


@dataclass(frozen=True)
class Asked:
    """What the program asks for: `values` in its changed functions (`changed_code.py`), and its `options`
    (`call_options.py`)."""

    values: Sequence[str | int] = ()
    options: Options = field(default_factory=dict)

    def named_in(self, code: str) -> "Asked":
        """What is named in this code; of the options all, and of the values all, where none is."""
        names = {*re.findall(r"\w+", code)}
        values = [one for one in self.values if repr(one) in code]
        options = {of: {name: one for name, one in some.items() if name in names} for of, some in self.options.items()}
        options = {of: some for of, some in options.items() if some}
        return Asked(values or self.values, options or self.options)


NOTHING_ASKED = Asked()


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
    calls: Sequence[str], others: Sequence[str], most: int, seed: int, wanted: Asked = NOTHING_ASKED
) -> list[str]:
    """At most `most` variants of `calls`, with inputs taken from `others`, alternating between called functions and
    kinds of change. The same arguments give the same calls."""
    chance = random.Random(seed)
    groups, pool, uses = _by_target(calls), _by_target(others), uses_in((*calls, *others))
    seen = {ast.unparse(call_tree(call)) for call in (*calls, *others)}
    known: dict[str, Change] = {**CHANGES, "asked": partial(asked, wanted.values)} if wanted.values else CHANGES
    often = ("asked", "asked") if wanted.values else ()  # what no other change finds
    found, targets = list[str](), sorted(groups)
    kinds = (*known, "crossed", *often, *WHOLE)
    for turn in range(4 * most if targets else 0):
        target, kind = targets[turn % len(targets)], kinds[(turn // len(targets)) % len(kinds)]
        other = chance.choice(pool.get(target) or groups[target])
        call, made = chance.choice(groups[target]), None
        if kind == OPTION:
            call, kind = _with_options(call, other, wanted.options, chance), chance.choice(kinds)
            made = call
        if kind == FOLLOWED:
            made = used_otherwise(call, uses, chance)
        elif kind == SHARED:
            made = shared(call, chance)
        elif kind != OPTION:
            made = _changed(call, other, known[kind], chance)
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


def _with_options(call: str, other: str, options: Options, chance: random.Random) -> str:
    """The call with options that it lacks, as far as there are any."""
    made, offered = call_tree(call), call_tree(other)
    for _ in range(chance.randint(1, MOST_OF_A_CALL)):
        with_option(made, offered, options, chance)
    return ast.unparse(ast.fix_missing_locations(made))


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
