"""The order in which an episode tries the places of a repository, and the size of the change it aims at.

The places are ordered once per run, shuffled, alternating between files. Each episode starts at its own place, chosen
by the golden ratio far from those of earlier episodes. So bugs spread over the repository, independent of the workers.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

GOLDEN = (5**0.5 - 1) / 2
SIZES = (3.5, 5.3)
"""Powers of two between which the wanted number of changed lines is drawn: 11 to 40."""
T = TypeVar("T")


class InFile(Protocol):
    @property
    def path(self) -> str: ...


P = TypeVar("P", bound=InFile)


def in_turns(places: Iterable[P], seed: int, late: Callable[[P], bool] = lambda place: False) -> list[P]:
    """All places, shuffled by `seed`, alternating between files. Those that are `late` come last in their file."""
    rng = random.Random(f"deal:{seed}")
    by_file: dict[str, list[P]] = {}
    for place in places:
        by_file.setdefault(place.path, []).append(place)
    files = list(by_file.values())
    rng.shuffle(files)
    for own in files:
        rng.shuffle(own)
        own.sort(key=late)
    rounds = max((len(own) for own in files), default=0)
    return [own[number] for number in range(rounds) for own in files if number < len(own)]


def rotated(places: Sequence[T], number: int) -> list[T]:
    """The places from the one on where this episode begins: evenly spread for any number of episodes."""
    start = int(len(places) * (GOLDEN * number % 1.0))
    return [*places[start:], *places[:start]]


def wanted_lines(rng: random.Random, sizes: tuple[float, float] = SIZES) -> int:
    """The number of changed lines to aim at, between these powers of two."""
    return round(2 ** rng.uniform(*sizes))
