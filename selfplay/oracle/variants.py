"""Which tests claim something wrong, and in which of a language's ways, drawn so that no patch can know."""

import secrets
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
FAR = 0
"""The way to another value that is far from the right one; the others are near it."""


def chosen(tests: Sequence[T], most: int, ways: int) -> list[tuple[T, int]]:
    """At most `most` pairs of a test and one of `ways` ways: as many tests as there are, the first of them far from the
    truth, then in each other way."""
    chance = secrets.SystemRandom()
    order = chance.sample(tests, len(tests))
    turns = [FAR, *chance.sample(range(FAR + 1, ways), ways - 1)]
    return [
        (order[index % len(order)], turns[(index % len(order) + index // len(order)) % ways])
        for index in range(min(most, ways * len(order)))
    ]
