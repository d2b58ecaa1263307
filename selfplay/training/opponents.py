"""A frozen past policy that plays some groups of a run in the place of the policy in training.

What it plays is not trained on. Its attempts count in the solve rate of the bugs that the present injector planted, so
that an injector is not paid for the weaknesses of one version alone; the bugs it plants are attempted by the present
solver. Which groups are its own is drawn by the run's seed, so a resumed run draws the same.
"""

import random
from typing import Annotated

from pydantic import Field

from selfplay.training.part import Part


class Opponents(Part):
    """`share`: of the groups of injections, and of the groups of attempts at new bugs of the present injector. `model`:
    the folder of the frozen weights; None: the model that the run began with."""

    share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    model: str | None = None


def drawn(share: float, seed: int, group: str) -> bool:
    """Whether a group is played by the opponent."""
    return random.Random(f"opponent:{seed}:{group}").random() < share
