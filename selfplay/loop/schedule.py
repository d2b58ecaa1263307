"""The schedule: which episodes of both roles belong to a step. Pure: numbers and names in, numbers and names out.

A step plays `groups` injector groups, and a solver group at each new bug as soon as it is valid; then some at old bugs,
so that a policy that makes no bugs yet still learns to solve. A group's repository is drawn by weight, and old bugs
without replacement; seed and step fix both draws.
"""

import random
from collections.abc import Collection, Mapping, Sequence

from selfplay.loop.config import InjectorConfig

Injected = list[tuple[str, int]]
"""Injector episodes as (repository, number in it)."""


def first_injection(stored: Sequence[int], members: int) -> int:
    """The number of a run's first episode on a pool that holds episodes with these numbers; groups begin at multiples
    of their size."""
    behind = max(stored, default=-1) + 1
    return -(-behind // members) * members


def drawn(weights: Mapping[str, float], groups: int, seed: int, step: int) -> list[str]:
    """The repository of each injector group of a step."""
    draw = random.Random(f"repositories:{seed}:{step}")
    return draw.choices(list(weights), list(weights.values()), k=groups)


def injections(names: Sequence[str], first: Mapping[str, int], planned: Injected, how: InjectorConfig) -> Injected:
    """The episodes of groups in these repositories. `first`: the number of the run's first episode in each; `planned`:
    the episodes of earlier steps."""
    following = dict(first)
    for name, number in planned:
        following[name] = max(following[name], number + 1)
    found = []
    for name in names:
        found += [(name, following[name] + member) for member in range(how.members)]
        following[name] += how.members
    return found


def in_vain(groups: Sequence[bool]) -> int:
    """How many of the last groups in a row gave no valid bug. `groups`: whether each gave one, in order."""
    return next((back for back, gave in enumerate(reversed(groups)) if gave), len(groups))


def groups_of(name: str, planned: Injected, gave: Collection[tuple[str, int]], members: int) -> list[bool]:
    """Whether each of a repository's planned groups gave a valid bug. `gave`: the episodes that did."""
    found: dict[int, bool] = {}
    for one in planned:
        if one[0] == name:
            group = one[1] // members
            found[group] = found.get(group, False) or one in gave
    return list(found.values())


def shuffled_bugs(bugs: Collection[str], seed: int, step: int) -> list[str]:
    """Old bugs in random order; a step attempts the first ones."""
    draw, found = random.Random(f"old bugs:{seed}:{step}"), sorted(bugs)
    return draw.sample(found, len(found))


def next_attempts(stored: Sequence[int], count: int) -> range:
    """The numbers of the next `count` attempts at a bug that has attempts with these numbers."""
    begin = max(stored, default=-1) + 1
    return range(begin, begin + count)
