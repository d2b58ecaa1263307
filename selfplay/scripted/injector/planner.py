"""Which code an episode works on: proposals of changes, in an order that the seed fixes (`target_order.py`)."""

import random
from collections.abc import Sequence

from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.injector.survey import Survey
from selfplay.scripted.policy import Script

MOST_TESTS = 60
"""The most tests that may run the changed lines: with more, too many tests notice, and running them costs more."""


class Planner:
    """Proposes changes to plant, for one episode."""

    def __init__(self, task: InjectorTask, survey: Survey, rng: random.Random) -> None:
        self.task, self.survey, self.rng = task, survey, rng

    def propose(self) -> Script[tuple[PlantedChange, ...]]:
        """The changes to try next; empty when nothing was found this time."""
        raise NotImplementedError

    def tests_of(self, change: PlantedChange) -> frozenset[int]:
        """Numbers of the tests that run a changed line."""
        return self.survey.tests_of_cuts(change.path, change.cuts)

    def may_join(self, changes: Sequence[PlantedChange], tests: frozenset[int]) -> bool:
        """Whether a change that `tests` run may join the others: each change needs a test that runs none of the
        others."""
        sets = [*(self.tests_of(change) for change in changes), tests]
        return all(one - frozenset().union(*(other for other in sets if other is not one)) for one in sets)
