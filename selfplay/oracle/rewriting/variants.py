"""Chooses at random which tests get false claims, and in which variant, so that a patch cannot predict it."""

import secrets
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
FAR = 0
"""The variant with a value far from the right one; the others give values near it."""


def chosen(tests: Sequence[T], most: int, variants: int) -> list[tuple[T, int]]:
    """At most `most` pairs of a test and one of the `variants`: each test comes once with the far variant before any
    test repeats with another variant."""
    chance = secrets.SystemRandom()
    order = chance.sample(tests, len(tests))
    turns = [FAR, *chance.sample(range(FAR + 1, variants), variants - 1)]
    return [
        (order[index % len(order)], turns[(index % len(order) + index // len(order)) % variants])
        for index in range(min(most, variants * len(order)))
    ]
