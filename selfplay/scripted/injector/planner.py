"""Which code an episode works on: proposals of changes, in an order that the seed fixes.

The places of a repository are laid out once per run, shuffled, files taking turns; each episode starts at a place of
its own, by the golden ratio far from those of the episodes before. So bugs spread over the repository whatever the
workers do.
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
"""Tests that may run the changed lines: where more do, too many tests notice, and running them costs more."""


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
        """How many changed lines to aim at this time."""
        return round(2 ** self.rng.uniform(*SIZES))

    def start(self, size: int) -> int:
        """Where this episode begins among `size` places: evenly spread, however many episodes there will be."""
        return int(size * (GOLDEN * self.task.number % 1.0))

    def may_join(self, changes: Sequence[Change], tests: frozenset[int]) -> bool:
        """Whether a change that `tests` run may join the others: each of them has a test that runs no other."""
        sets = [*(self.tests_of(change) for change in changes), tests]
        return all(one - frozenset().union(*(other for other in sets if other is not one)) for one in sets)
