"""How attempts at one bug differ: which kinds of repairs they prefer, how random their order is, and what they do if
nothing helps."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from selfplay.scripted.solver.repair import Repair

REGION = 40
"""Lines whose weights change together when chance shifts an attempt's attention."""


@dataclass(frozen=True)
class Variation:
    """`factors`: weights of kinds of repairs; `chance` (0 to 1): how far weights are changed at random, by region and
    one by one; `answers`: whether special cases for the visible tests are the last resort."""

    factors: Mapping[str, float] = field(default_factory=dict)
    chance: float = 0.0
    answers: bool = False

    def applied(self, repairs: Sequence[Repair], rng: random.Random) -> list[Repair]:
        """The repairs with this attempt's weights."""
        regions: dict[tuple[str, int], float] = {}
        found = []
        for repair in repairs:
            path, cut = repair.edits[0]
            key = (path, cut.start // REGION)
            if key not in regions:
                regions[key] = rng.uniform(1 - self.chance, 1 + self.chance)
            factor = self.factors.get(repair.kind, 1.0) * regions[key] * rng.uniform(1 - self.chance / 2, 1)
            found.append(replace(repair, weight=repair.weight * factor))
        return found


VARIATIONS = (
    Variation(),
    Variation({"insertion": 1.6, "transplant": 1.6, "method": 1.6}, 0.3),
    Variation({"guard": 1.6, "return": 1.6, "stub": 1.4}, 0.5),
    Variation({"insertion": 0.7}, 0.7, answers=True),
)
"""By the attempt's number, over and over."""
