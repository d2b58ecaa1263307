"""Which episodes of both roles belong to a step. Pure: numbers and names in, numbers and names out.

A step plays `groups` injector groups, then a solver group at each bug they made and at old bugs, so that a policy that
makes no bug yet still learns to solve. Old bugs are drawn without replacement, fixed by seed and step.
"""

import random
from collections.abc import Sequence

from selfplay.training.config import Injecting, Solving


def first_injection(stored: Sequence[int], members: int) -> int:
    """The first episode's number of a run on a pool that holds episodes with these numbers: groups begin at
    multiples of their size."""
    behind = max(stored, default=-1) + 1
    return -(-behind // members) * members


def injections(step: int, first: int, how: Injecting) -> range:
    """The numbers of the injector episodes of a step (from 0)."""
    each = how.groups * how.members
    return range(first + step * each, first + (step + 1) * each)


def attempted(new: Sequence[str], old: Sequence[str], how: Solving, seed: int, step: int) -> list[str]:
    """The bugs that are attempted in a step: all new ones, whose injector waits for its reward, then some old ones."""
    room = max(0, how.bugs - len(new))
    draw = random.Random(f"old bugs:{seed}:{step}")
    return [*new, *draw.sample(sorted(old), min(room, len(old)))]


def next_attempts(stored: Sequence[int], count: int) -> range:
    """The numbers of the next `count` attempts at a bug that has attempts with these numbers."""
    begin = max(stored, default=-1) + 1
    return range(begin, begin + count)
