"""Which code an episode works on: proposals of changes, in an order that the seed fixes.

The places of a repository are ordered once per run, shuffled, alternating between files. Each episode starts at its own
place, chosen by the golden ratio far from those of earlier episodes. So bugs spread over the repository, independent of
the workers.
"""

import random
from collections.abc import Sequence

from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted.edits.cuts import Change
from selfplay.scripted.injector.survey import Survey
from selfplay.scripted.policy import Script

GOLDEN = (5**0.5 - 1) / 2
SIZES = (3.5, 5.3)
"""Powers of two between which the wanted number of changed lines is drawn: 11 to 40."""
MOST_TESTS = 60
"""The most tests that may run the changed lines: with more, too many tests notice, and running them costs more."""


class Planner:
    """Proposes changes to plant, for one episode."""

    def __init__(self, task: InjectorTask, survey: Survey, rng: random.Random) -> None:
        self.task, self.survey, self.rng = task, survey, rng

    def propose(self) -> Script[tuple[Change, ...]]:
        """The changes to try next; empty when nothing was found this time."""
        raise NotImplementedError

    def tests_of(self, change: Change) -> frozenset[int]:
        """Numbers of the tests that run a changed line."""
        return self.survey.tests_of_cuts(change.path, change.cuts)

    def wanted(self) -> int:
        """The number of changed lines to aim at this time."""
        return round(2 ** self.rng.uniform(*SIZES))

    def start(self, size: int) -> int:
        """Where this episode begins among `size` places: evenly spread for any number of episodes."""
        return int(size * (GOLDEN * self.task.number % 1.0))

    def may_join(self, changes: Sequence[Change], tests: frozenset[int]) -> bool:
        """Whether a change that `tests` run may join the others: each change needs a test that runs none of the
        others."""
        sets = [*(self.tests_of(change) for change in changes), tests]
        return all(one - frozenset().union(*(other for other in sets if other is not one)) for one in sets)
