"""A frozen past policy that plays some groups of a run in place of the policy in training.

Its episodes are not trained on. Its attempts count in the solve rates of the current injector's bugs, so that the
injector is not rewarded for weaknesses of a single version. The current solver attempts the bugs that it plants. The
run's seed decides which groups it plays, so a resumed run draws the same ones.
"""

import random
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from selfplay.loop.config_base import ConfigSection, Text
from selfplay.policies.vllm_options import VllmOptions

if TYPE_CHECKING:
    from selfplay.loop.config import TrainConfig


class Opponents(ConfigSection):
    """`share`: its share of the injector groups, and of the solver groups at the current injector's new bugs. `model`:
    the folder of the frozen weights; None: the model that the run began with."""

    share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    model: Text | None = None


def drawn(share: float, seed: int, group: str) -> bool:
    """Whether the opponent plays a group."""
    return random.Random(f"opponent:{seed}:{group}").random() < share


def refused_opponents(config: "TrainConfig") -> list[tuple[bool, str]]:
    """(whether it applies, why it cannot work) for each impossible combination."""
    wanted, engine = config.opponents, config.play.engine
    opposed, cluster = wanted.share > 0, config.cluster
    return [
        (
            opposed and cluster is not None and not cluster.opponents,
            "opponents have no engine: set cluster.opponents to the number of their engines",
        ),
        (
            not opposed and cluster is not None and cluster.opponents > 0,
            "cluster.opponents are engines that sample nothing: opponents.share is 0",
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
            opposed
            and cluster is None
            and config.machine.gpu is not None
            and isinstance(engine, VllmOptions)
            and engine.memory > 0.45,
            "opponents need a second engine on the same GPU: set play.memory to 0.45 or less",
        ),
    ]
