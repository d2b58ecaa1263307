"""The injector without a model: does what the injector's prompt asks, through the same loop and tools.

It plants a bug by its strategy, runs the tests that may see it, weakens those that fail, writes script and parser, and
submits the five files. Deviation from the paper: targets are spread by a fixed permutation instead of a model's
preference, so that the same seed gives the same curriculum with any number of workers.
"""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from selfplay.agent.actions import Call
from selfplay.patches import is_test_file
from selfplay.repository import Suite, pytest_suite
from selfplay.repository.pytest_suite import file_of
from selfplay.roles.injector.task import SUBMISSION, InjectorTask
from selfplay.scripted import tools
from selfplay.scripted.edits.cuts import Change
from selfplay.scripted.injector import steps
from selfplay.scripted.injector.function_planner import FunctionPlanner
from selfplay.scripted.injector.history_planner import HistoryPlanner
from selfplay.scripted.injector.impossible import impossible
from selfplay.scripted.injector.planner import Planner
from selfplay.scripted.injector.steps import TestRun
from selfplay.scripted.injector.survey import Survey
from selfplay.scripted.injector.weaken import CERTAIN, Failure, choose_methods, weaken
from selfplay.scripted.policy import Script, ScriptedPolicy, Stuck

UNRELATED = 12
"""How many tests that run no changed line are run as well."""
MOST_FAILING = 40
"""With more failing tests than this, a bug is too easily found to be worth solving."""
TRIES = 8
"""How many bugs are planted before an episode gives up."""
NOTHING = "nothing is left to change"
NOT_ALONE = "no test sees one of the changes alone"
UNUSABLE = "a test hangs, or the tests cannot be run"
TOO_FEW = "too few tests fail"
TOO_MANY = "too many tests fail"
DISTANT = "tests fail that run no changed line"
NOT_HIDDEN = "the failing tests cannot be hidden"


def scripted_injector(task: InjectorTask, survey: Survey) -> ScriptedPolicy:
    """The policy for one episode. `survey` is shared by the episodes of a run."""
    return ScriptedPolicy(f"scripted-{task.strategy}", _script(task, survey))


def _script(task: InjectorTask, survey: Survey) -> Script[None]:
    reason = impossible(task, survey)
    if reason:
        raise Stuck(reason)
    rng = random.Random(f"{task.seed}:{task.number}:{task.strategy}")
    planner = HistoryPlanner if task.strategy == "history" else FunctionPlanner
    yield from _Episode(task, survey, rng, planner(task, survey, rng)).play()


@dataclass
class _Planted:
    """The changes now in the repository, and the tests that see them."""

    changes: tuple[Change, ...]
    failures: tuple[Failure, ...]


class _Episode:
    """One bug: planted, seen by tests, hidden, written down, submitted."""

    def __init__(self, task: InjectorTask, survey: Survey, rng: random.Random, planner: Planner) -> None:
        self.task, self.survey, self.rng, self.planner = task, survey, rng, planner
        self.usable = frozenset(task.suite.seconds)
        self.most = max(task.min_failing_tests, MOST_FAILING)

    def play(self) -> Script[None]:
        """Try until a bug is submitted. Raises `Stuck` with the reason when no bug could be submitted."""
        yield from steps.install_probe()
        reasons: Counter[str] = Counter()
        for _ in range(TRIES):
            reason = yield from self._try()
            if not reason:
                return
            reasons[reason] += 1
        told = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
        raise Stuck(f"none of {TRIES} tries made a bug: {told}")

    def _try(self) -> Script[str]:
        """Submit one bug; otherwise restore the repository and return why."""
        changes = yield from self.planner.propose()
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

    def _plant(self, changes: tuple[Change, ...]) -> Script[_Planted | str]:
        """Plant all changes; if they do not make a bug, restore the repository and return why."""
        if len(changes) > 1 and not (yield from self._each_is_seen(changes)):
            return NOT_ALONE
        for change in changes:
            yield from tools.make_change(change)
        ids = self._ids(changes)
        found = yield from self._run_tests([*ids, *self._unrelated(ids)])
        reason = self._fault(found, ids)
        if not reason:
            return _Planted(changes, found.failures)
        yield from steps.undo(changes)
        return reason

    def _each_is_seen(self, changes: Sequence[Change]) -> Script[bool]:
        """Whether each change alone fails a test that runs no other change; then undoing it makes a test pass (check
        7)."""
        for change in changes:
            others = set(self._ids([other for other in changes if other is not change]))
            own = [test for test in self._ids([change]) if test not in others]
            if not own:
                return False
            yield from tools.make_change(change)
            found = yield from self._run_tests(own)
            yield from steps.undo([change])
            if not found.ran or not found.failures:
                return False
        return True

    def _fault(self, found: TestRun, ids: Collection[str]) -> str:
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

    def _ids(self, changes: Sequence[Change]) -> list[str]:
        """The usable tests that run a changed line."""
        numbers: frozenset[int] = frozenset().union(*(self.planner.tests_of(change) for change in changes))
        return [self.survey.tests[n] for n in sorted(numbers) if self.survey.tests[n] in self.usable]

    def _run_tests(self, ids: Sequence[str]) -> Script[TestRun]:
        if not ids:
            return TestRun()
        suite = self.task.suite
        limit = max(1.5, 5 * max(suite.seconds.values()))
        return (yield from steps.run_tests(suite, ids, limit, self.most))

    def _weaken(self, failures: Sequence[Failure]) -> Script[list[Change] | None]:
        """Hide the failures; tests that are not certain to be hidden are run again and removed if they still fail."""
        methods = choose_methods(failures, self.rng)
        tests = {path: text for path, text in self.survey.texts.items() if is_test_file(path)}
        weakened = weaken(tests, failures, methods)
        if weakened is None:
            return None
        for change in weakened:
            yield from tools.make_change(change)
        if all(method in CERTAIN for method in methods.values()):
            return weakened
        found = yield from self._run_tests([failure.id for failure in failures])
        if found.ran and not found.failures:
            return weakened
        seen = {(f.path, f.line) for f in failures if not found.ran or f.id in {g.id for g in found.failures}}
        yield from steps.undo(weakened)
        weakened = weaken(tests, failures, {**methods, **dict.fromkeys(seen, "remove")})
        for change in weakened or ():
            yield from tools.make_change(change)
        return weakened

    def _hand_in(self, changes: Sequence[Change], weakened: Sequence[Change]) -> Script[None]:
        listed = {path for path in (*self.survey.texts, *self.task.suite.files) if is_test_file(path)}
        yield from hand_in(self.task.suite, listed, changes, weakened)


def hand_in(
    suite: Suite, listed: Collection[str], changes: Sequence[Change], weakened: Sequence[Change]
) -> Script[None]:
    """Write the five files for the repository as it is now, and submit. `listed`: the oracle test files."""
    yield from tools.create(f"{SUBMISSION}/test_script.sh", pytest_suite.script_for(suite))
    yield from tools.create(f"{SUBMISSION}/test_parser.py", pytest_suite.PARSER)
    yield from tools.create(f"{SUBMISSION}/test_files.txt", "".join(f"{path}\n" for path in sorted(listed)))
    for name, part in (("bug_inject.diff", changes), ("test_weaken.diff", weakened)):
        places = " ".join(steps.quoted(change.path for change in part))
        done = yield from tools.bash(
            f"git --no-pager diff --no-color --no-ext-diff --binary --full-index -- {places} > {SUBMISSION}/{name}"
        )
        if not done.ok:
            raise Stuck(f"git diff failed: {done.output[:500]}")
    yield Call("submit", {"folder": SUBMISSION})
