"""The ranges of the numbers in an order, from the command line or a program: what is outside cannot work, or would be
counted in memory before anything is played."""

from dataclasses import fields
from typing import Any

from selfplay.rollout.scheduler import RolloutError

RANGES: dict[str, tuple[float, float]] = {
    "bugs": (1, 1_000_000),
    "attempts": (1, 10_000),
    "workers": (1, 10_000),
    "patience": (1, 1_000_000),
    "minutes": (0.01, 1_000_000),
    "group": (1, 1_000_000),
    "releases": (0, 10_000),
    "per_parent": (0, 10_000),
    "order": (1, 2),
    "public_share": (0.01, 1),
    "seed": (-(2**63), 2**63 - 1),
}
"""A number's name -> the least and the most."""


def refuse_outside(order: Any) -> None:
    """Raises `RolloutError` for a number of a dataclass that lies outside of its range; None is none."""
    for name in (field.name for field in fields(order) if field.name in RANGES):
        value, (least, most) = getattr(order, name), RANGES[name]
        if isinstance(value, int | float) and not least <= value <= most:
            raise RolloutError(
                f"{name} is {value}, and must lie between {least:,} and {most:,}", "Give another number."
            )
