"""Which trajectories of a finished step stay in the run's folder. By default all do; a long run on a cluster would
write terabytes, so it keeps some to read. Rewards, outcomes, diffs and bugs of all episodes stay in the pool."""

import random
from collections.abc import Sequence

from selfplay.loop.config_base import ConfigSection, PositiveInt


class KeptTrajectories(ConfigSection):
    """Of the first and every `every`-th step after it, `of_role` trajectories of each role (None: all) are kept, drawn
    by the run's seed."""

    every: PositiveInt = 1
    of_role: PositiveInt | None = None


def unkept(step: int, of_each_role: Sequence[Sequence[str]], how: KeptTrajectories, seed: int) -> list[str]:
    """The trajectories of a finished step that are deleted. `of_each_role`: the step's, by role."""
    if step % how.every:
        return [name for names in of_each_role for name in names]
    if how.of_role is None:
        return []
    draw = random.Random(f"kept:{seed}:{step}")
    return [name for names in of_each_role for name in draw.sample(sorted(names), len(names))[how.of_role :]]
