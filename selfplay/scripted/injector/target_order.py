"""The order in which an episode tries the places of a repository, and the size of the change it aims at.

The places are ordered once per run, shuffled, alternating between files, and cut into blocks. Each episode begins in a
block of its own, far from those of earlier episodes. So bugs spread over the repository, independent of the workers.
"""

import random
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

GOLDEN = (5**0.5 - 1) / 2
BLOCKS = (0, 4, 2, 6, 1, 5, 3, 7)
"""The eighths of the places, in the order in which episodes begin in them."""
SIZES = (3.5, 5.3)
"""Powers of two between which the wanted number of changed lines is drawn: 11 to 40."""
T = TypeVar("T")


class InFile(Protocol):
    @property
    def path(self) -> str: ...


P = TypeVar("P", bound=InFile)


def in_turns(places: Iterable[P], seed: int) -> list[P]:
    """All places, shuffled by `seed`, alternating between files."""
    rng = random.Random(f"deal:{seed}")
    by_file: dict[str, list[P]] = {}
    for place in places:
        by_file.setdefault(place.path, []).append(place)
    files = list(by_file.values())
    rng.shuffle(files)
    for own in files:
        rng.shuffle(own)
    rounds = max((len(own) for own in files), default=0)
    return [own[number] for number in range(rounds) for own in files if number < len(own)]


def spread(places: Sequence[T], turn: int) -> list[T]:
    """All places, in the order of an episode. `turn`: how many earlier episodes had the same strategy.

    Its own block comes first, the others in an order of its own: many places offer no change, and an episode that went
    on into the next block would come to the place where another begins, and make the same bug."""
    parts, block = len(BLOCKS), BLOCKS[turn % len(BLOCKS)]
    start, end = (len(places) * at // parts for at in (block, block + 1))
    begin = start + int((end - start) * (GOLDEN * (turn // parts) % 1.0))
    others = [*places[:start], *places[end:]]
    random.Random(f"others:{turn}").shuffle(others)
    return [*places[begin:end], *places[start:begin], *others]


def wanted_lines(rng: random.Random, sizes: tuple[float, float] = SIZES) -> int:
    """The number of changed lines to aim at, between these powers of two."""
    return round(2 ** rng.uniform(*sizes))
