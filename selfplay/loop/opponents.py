"""A frozen past policy that plays some groups of a run in the place of the policy in training.

What it plays is not trained on. Its attempts count in the solve rate of the bugs that the present injector planted, so
that an injector is not paid for the weaknesses of one version alone; the bugs it plants are attempted by the present
solver. Which groups are its own is drawn by the run's seed, so a resumed run draws the same.
"""

import random
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from selfplay.loop.config_base import Part

if TYPE_CHECKING:
    from selfplay.loop.config import TrainConfig


class Opponents(Part):
    """`share`: of the groups of injections, and of the groups of attempts at new bugs of the present injector. `model`:
    the folder of the frozen weights; None: the model that the run began with."""

    share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    model: str | None = None


def drawn(share: float, seed: int, group: str) -> bool:
    """Whether a group is played by the opponent."""
    return random.Random(f"opponent:{seed}:{group}").random() < share


def refused_opponents(config: "TrainConfig") -> list[tuple[bool, str]]:
    """(whether it is so, why it cannot work) for each combination of theirs that cannot."""
    wanted, memory = config.opponents, float(config.play.get("memory", 0.9))
    opposed = wanted.share > 0
    return [
        (
            opposed and config.cluster is not None,
            "opponents need one process: a cluster's engines all sample the model in training",
        ),
        (
            opposed and (config.injector.groups == 0 or config.solver.bugs == 0),
            "opponents need both roles: they attempt new bugs, and plant bugs that are attempted",
        ),
        (
            wanted.model is not None and not opposed,
            "opponents.model plays nothing: opponents.share is 0",
        ),
        (
            opposed and config.machine.gpu is not None and memory > 0.45,
            "opponents have an engine of their own on the same GPU: set play.memory to 0.45 or less",
        ),
    ]
