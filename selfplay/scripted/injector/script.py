"""The injector without a model: does what the injector's prompt asks, through the same loop and tools.

It plants a bug by its strategy, runs the tests that may see it, weakens those that fail, writes script and parser, and
submits the five files. Deviation from the paper: targets are spread by a fixed permutation instead of a model's
preference, so that the same seed gives the same curriculum with any number of workers.
"""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from selfplay.patches import is_test_file
from selfplay.repository.suites import pytest_suite
from selfplay.repository.suites.pytest_suite import file_of
from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted import tools
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.injector import steps
from selfplay.scripted.injector.attempt_loop import NOT_ALONE, NOT_HIDDEN, NOTHING, TOO_FEW, TOO_MANY, until_submitted
from selfplay.scripted.injector.elsewhere import new_only
from selfplay.scripted.injector.function_planner import FunctionPlanner
from selfplay.scripted.injector.history_planner import HistoryPlanner
from selfplay.scripted.injector.impossible import impossible
from selfplay.scripted.injector.planner import Planner
from selfplay.scripted.injector.slow_suites import NearFirst, is_slow, reaching_files
from selfplay.scripted.injector.sources import Sources
from selfplay.scripted.injector.steps import ScriptedRun
from selfplay.scripted.injector.submit import hand_in
from selfplay.scripted.injector.survey import Survey
from selfplay.scripted.injector.trial import trial_episode
from selfplay.scripted.injector.weaken import Failure, choose_methods, ends, joined, weaken, weakened_more
from selfplay.scripted.policy import Script, ScriptedPolicy, Stuck

UNRELATED = 12
"""How many tests that run no changed line are run as well."""
MOST_FAILING = 40
"""With more failing tests than this, a bug is too easily found to be worth solving."""
UNUSABLE = "a test hangs, or the tests cannot be run"
DISTANT = "tests fail that run no changed line"


def scripted_injector(task: InjectorTask, known: Survey | Sources) -> ScriptedPolicy:
    """The policy for one episode. `known`: of the repository, shared by the episodes of a run."""
    return ScriptedPolicy(f"scripted-{task.strategy}", _script(task, known))


def _script(task: InjectorTask, survey: Survey | Sources) -> Script[None]:
    reason = impossible(task, survey)
    if reason:
        raise Stuck(reason)
    if isinstance(survey, Sources):
        yield from trial_episode(task, survey)
        return
    rng = random.Random(f"{task.seed}:{task.number}:{task.strategy}")
    planner = HistoryPlanner if task.strategy == "history" else FunctionPlanner
    yield from _ScriptedInjection(task, survey, rng, planner(task, survey, rng)).play()


@dataclass
class _Planted:
    """The changes now in the repository, and the tests that see them."""

    changes: tuple[PlantedChange, ...]
    failures: tuple[Failure, ...]


class _ScriptedInjection:
    """One bug: planted, seen by tests, hidden, written down, submitted."""

    def __init__(self, task: InjectorTask, survey: Survey, rng: random.Random, planner: Planner) -> None:
        self.task, self.survey, self.rng, self.planner = task, survey, rng, planner
        self.usable = frozenset(task.suite.seconds)
        self.most = max(task.min_failing_tests, MOST_FAILING)
        self.proposals = NearFirst(new_only(planner.propose, survey.copies), self._are_distant)

    def play(self) -> Script[None]:
        """Try until a bug is submitted. Raises `Stuck` with the reasons when none could be."""
        yield from steps.install_probe()
        yield from until_submitted(self._try)

    def _try(self) -> Script[str]:
        """Submit one bug; otherwise restore the repository and return why."""
        changes = yield from self.proposals.propose()
        if not changes:
            return NOTHING
        planted = yield from self._plant(changes)
        if isinstance(planted, str):
            return planted
        hidden = yield from self._weaken(planted.failures)
        if not hidden:
            yield from steps.undo(planted.changes)
            return NOT_HIDDEN
        yield from self._hand_in(planted.changes, hidden)
        return ""

    def _are_distant(self, changes: Sequence[PlantedChange]) -> bool:
        suite = self.task.suite
        return is_slow(suite) and reaching_files(suite, self._ids(changes), self.task.min_passing_tests) is None

    def _plant(self, changes: tuple[PlantedChange, ...]) -> Script[_Planted | str]:
        """Plant the changes that tests see by themselves; if they do not make a bug, restore the repository and return
        why. What no failing test runs goes again without another look: the failures are not its own."""
        for change in changes:
            yield from tools.make_change(change)
        ids = self._ids(changes)
        found = yield from self._run_tests([*ids, *self._unrelated(ids)])
        reason = self._fault(found, ids)
        seen = changes if reason or len(changes) == 1 else self._seen(changes, found.failures) or changes[:1]
        dropped = [change for change in changes if change not in seen]
        idle = not {failure.id for failure in found.failures} & set(self._ids(dropped))
        if not reason and idle and len(seen) >= self.task.min_changed_files:
            yield from steps.undo(dropped)
            return _Planted(seen, found.failures)
        yield from steps.undo(changes)
        if reason or len(seen) < self.task.min_changed_files:
            return reason or NOT_ALONE
        return (yield from self._plant(seen))

    def _seen(self, changes: Sequence[PlantedChange], failures: Sequence[Failure]) -> tuple[PlantedChange, ...]:
        """The changes of which each fails a test that runs no other change: undoing it makes that test pass (check
        7)."""
        failing = {failure.id for failure in failures}
        tests = {change.path: set(self._ids([change])) & failing for change in changes}
        others = {path: set[str]().union(*(own for other, own in tests.items() if other != path)) for path in tests}
        return tuple(change for change in changes if tests[change.path] - others[change.path])

    def _fault(self, found: ScriptedRun, ids: Collection[str]) -> str:
        """Why the failures do not make a bug: too few tests fail, or most of the suite, or tests outside `ids`. Else
        empty."""
        if not found.ran:
            return UNUSABLE
        if len(found.failures) < self.task.min_failing_tests:
            return TOO_FEW
        if len(found.failures) > self.most or len(found.failures) >= len(self.usable):
            return TOO_MANY
        return "" if {failure.id for failure in found.failures} <= set(ids) else DISTANT

    def _unrelated(self, ids: Sequence[str]) -> list[str]:
        """A few tests of the same files that run no changed line. If one fails, the change has a remote effect (a table
        filled once, a cached default) that the covering tests do not bound."""
        files, chosen = {file_of(test) for test in ids}, set(ids)
        others = [test for test in self.survey.tests if test in self.usable - chosen and file_of(test) in files]
        return others[:: max(1, len(others) // UNRELATED)][:UNRELATED]

    def _ids(self, changes: Sequence[PlantedChange]) -> list[str]:
        """The usable tests that run a changed line."""
        numbers: frozenset[int] = frozenset().union(*(self.planner.tests_of(change) for change in changes))
        return [self.survey.tests[n] for n in sorted(numbers) if self.survey.tests[n] in self.usable]

    def _run_tests(self, ids: Sequence[str]) -> Script[ScriptedRun]:
        if not ids:
            return ScriptedRun()
        suite = self.task.suite
        limit = max(1.5, 5 * max(suite.seconds.values()))
        return (yield from steps.run_tests(suite, ids, limit, self.most))

    def _weaken(self, failures: Sequence[Failure]) -> Script[tuple[PlantedChange, ...] | None]:
        """Hide the failures. Tests that are not certain to be hidden are run again: tests that still fail lose their
        assertions from the failing one on, and uncertain ones are then ended before it or removed."""
        tests = {path: text for path, text in self.survey.texts.items() if is_test_file(path)}
        passing = self.usable - {failure.id for failure in failures}
        weakened = weaken(tests, failures, choose_methods(failures, self.rng), passing)
        if weakened is None:
            return None
        for change in weakened.changes:
            yield from tools.make_change(change)
        if not weakened.uncertain:
            return weakened.changes
        uncertain = [failure for failure in failures if (failure.path, failure.line) in weakened.uncertain]
        usable = [test for test in self.survey.tests if test in self.usable]
        found = yield from self._run_tests(of_their_names(uncertain, usable))
        if found.ran and not found.failures:
            return weakened.changes
        more = weakened_more(tests, weakened.changes, found.failures, passing) if found.ran else None
        if more is None:
            yield from steps.undo(weakened.changes)
            return (yield from self._ended(tests, failures, passing))
        for change in more:
            yield from tools.make_change(change)
        return joined(weakened.changes, more)

    def _ended(
        self, tests: dict[str, str], failures: Sequence[Failure], passing: Collection[str]
    ) -> Script[tuple[PlantedChange, ...] | None]:
        """End every failing test before its failing part, or remove it if nothing would be left: it is then hidden for
        certain, without a run."""
        weakened = weaken(tests, failures, ends(failures), passing) or weaken(tests, failures, {}, passing)
        for change in weakened.changes if weakened else ():
            yield from tools.make_change(change)
        return weakened.changes if weakened else None

    def _hand_in(self, changes: Sequence[PlantedChange], weakened: Sequence[PlantedChange]) -> Script[None]:
        listed = {path for path in (*self.survey.texts, *self.task.suite.files) if is_test_file(path)}
        files = reaching_files(self.task.suite, self._ids(changes), self.task.min_passing_tests)
        yield from hand_in(pytest_suite.script_for(self.task.suite, files), listed, changes, weakened)


def of_their_names(failures: Sequence[Failure], tests: Sequence[str]) -> list[str]:
    """Of `tests`, those with the names of failing ones: they may be the same function in other classes, and an
    assertion that is gone may have called what a later one needs."""
    names = {failure.name for failure in failures}
    return [test for test in tests if test.partition("[")[0].rpartition("::")[2] in names]
