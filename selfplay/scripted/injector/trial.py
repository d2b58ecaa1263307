"""One episode in a language without a survey: a change is planted, the suite run, and what fails is hidden.

A bug costs two suite runs, plus one for each change that no test sees and each hiding that fails. Of a slow suite only
the files that load the changed code are run, where that is known.
"""

import random
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from selfplay.patches import is_test_file
from selfplay.plain_text import encode
from selfplay.repository import Suite
from selfplay.repository.suites.pytest_suite import file_of, finished, parse_records
from selfplay.repository.suites.runners import script_for
from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted import tools
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.injector import steps
from selfplay.scripted.injector.attempt_loop import NOT_ALONE, NOT_HIDDEN, NOTHING, TOO_FEW, TOO_MANY, until_submitted
from selfplay.scripted.injector.elsewhere import new_only
from selfplay.scripted.injector.past_planner import PastPlanner
from selfplay.scripted.injector.slow_suites import NearFirst, share_of
from selfplay.scripted.injector.sources import Sources
from selfplay.scripted.injector.submit import hand_in
from selfplay.scripted.injector.tree_planner import TreePlanner
from selfplay.scripted.policy import Script
from selfplay.scripted.tree_sitter.weaken import Method, SuiteFailure, choose_methods, weaken
from selfplay.validators import Thresholds
from selfplay.validators.common import function_of

MOST_FAILING, MOST_SHARE = 30, 0.5
"""With more failing tests than this, or a larger share of all, a bug is too easily found to be worth solving."""
SLOW_SECONDS, MOST_LOADING = 3.0, 0.5
"""Of a suite that takes longer, only the test files that load the changed code are run at first, if they take at most
this share of it."""
MOST_LOG = 8_000_000
UNUSABLE = "the tests do not end"
BROKEN = "it does not compile"
COMPILE = {"go": "go build ./..."}
"""Commands that tell without a suite run that a change does not compile."""
_PLACE = re.compile(r"([\w.@+/-]++)(?::(\d{1,6}))?")


class TrialPlanner(Protocol):
    def propose(self) -> Script[tuple[PlantedChange, ...]]: ...


@dataclass(frozen=True)
class Ran:
    """A run of the suite: which usable tests did not pass, which tests and files were reported as failed, and its log.
    `ended` is False for a run that was stopped; `partial`: only some files ran."""

    failing: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    log: str = ""
    ended: bool = True
    partial: bool = False


def trial_episode(task: InjectorTask, sources: Sources) -> Script[None]:
    """Try until a bug is submitted. Raises `Stuck` with the reason when none could be."""
    rng = random.Random(f"{task.seed}:{task.number}:{task.strategy}")
    planner = PastPlanner if task.strategy == "history" else TreePlanner
    trial = _PlantingTrial(task, sources, rng, planner(task, sources, rng))
    yield from until_submitted(trial.submitted)


class _PlantingTrial:
    def __init__(self, task: InjectorTask, sources: Sources, rng: random.Random, planner: TrialPlanner) -> None:
        self.task, self.sources, self.rng = task, sources, rng
        self.propose = NearFirst(new_only(planner.propose, sources.copies), self._are_distant).propose
        self.usable = frozenset(task.suite.seconds)
        self.most = max(task.min_failing_tests, min(MOST_FAILING, int(len(self.usable) * MOST_SHARE)))

    def submitted(self) -> Script[str]:
        """Submit one bug; otherwise restore the repository and return why."""
        changes = yield from self.propose()
        if not changes:
            return NOTHING
        if len(changes) > 1:
            changes = yield from self._seen(changes)
        if len(changes) < self.task.min_changed_files:
            return NOT_ALONE
        ran = yield from self._planted(changes)
        reason = ran if isinstance(ran, str) else self._fault(ran)
        hidden = None
        if not isinstance(ran, str) and not reason:
            hidden = yield from self._hidden(ran)
            reason = "" if hidden else NOT_HIDDEN
        if reason or hidden is None:
            yield from steps.undo(changes)
            return reason
        listed = {path for path in (*self.sources.texts, *self.task.suite.files) if is_test_file(path)}
        yield from hand_in(script_for(self.task.suite), listed, changes, hidden)
        return ""

    def _are_distant(self, changes: Sequence[PlantedChange]) -> bool:
        slow = self.task.suite.wall_seconds > SLOW_SECONDS and self.sources.knows_loading
        return slow and self._loading(changes) is None

    def _planted(self, changes: Sequence[PlantedChange]) -> Script[Ran | str]:
        """Make the changes and run the suite; returns why not, if they do not compile."""
        for change in changes:
            yield from tools.make_change(change)
        compile_ = COMPILE.get(self.sources.language)
        if compile_ is not None:
            done = yield from tools.bash(f"{compile_} 2>&1 | tail -n 20; exit ${{PIPESTATUS[0]}}", 300.0)
            if not done.ok:
                return BROKEN
        return (yield from self._run(self._loading(changes)))

    def _loading(self, changes: Sequence[PlantedChange]) -> list[str] | None:
        """Of a slow suite, the test files that load a changed file; None, for all, where no file is known to, or most
        of them. What others see of the change is found by the checks, which run everything."""
        suite = self.task.suite
        if suite.wall_seconds <= SLOW_SECONDS:
            return None
        files = self.sources.tests_loading({change.path for change in changes}) & {*suite.files}
        return sorted(files) if files and share_of(suite, files) <= MOST_LOADING else None

    def _seen(self, changes: Sequence[PlantedChange]) -> Script[tuple[PlantedChange, ...]]:
        """The changes of which each alone fails a test that none of the others does (check 7)."""
        found: list[tuple[PlantedChange, frozenset[str]]] = []
        for change in changes:
            ran = yield from self._planted([change])
            yield from steps.undo([change])
            if not isinstance(ran, str) and not self._fault(ran):
                found.append((change, ran.failing))
        return tuple(
            one for one, tests in found if tests - frozenset().union(*(other for c, other in found if c is not one))
        )

    def _fault(self, ran: Ran) -> str:
        """Why the failures do not make a bug; else empty."""
        if not ran.ended:
            return UNUSABLE
        if len(ran.failing) < self.task.min_failing_tests:
            return TOO_FEW
        return TOO_MANY if len(ran.failing) > self.most or ran.failing == self.usable else ""

    def _hidden(self, ran: Ran) -> Script[tuple[PlantedChange, ...] | None]:
        """Weaken the failing tests and check whether that hides them; if not, remove the ones that still fail, and else
        all. None, with the test files as they were, when they cannot be hidden."""
        failures = list(_failures(ran, ran.failing))
        methods = choose_methods(failures, self.rng)
        files = sorted({failure.path for failure in failures} & {*self.task.suite.files}) if ran.partial else None
        for _ in range(2):
            changes = self._weakened(methods)
            if changes:
                for change in changes:
                    yield from tools.make_change(change)
                now = yield from self._run(files)
                if now.ended and not now.failed and self._may_lose(now.failing - ran.failing, ran.failing):
                    return changes
                yield from steps.undo(changes)
                left = now.failed & ran.failing if now.failed <= ran.failing else ran.failing
            else:
                left = ran.failing
            methods = _removing(methods, left)
        return None

    def _may_lose(self, lost: frozenset[str], failing: frozenset[str]) -> bool:
        """Whether tests that the bug does not break may go with those that it breaks (check 6)."""
        functions = {function_of(test) for test in failing}
        few = len(lost) <= Thresholds().max_lost_share * len(self.usable - failing)
        return few and all(function_of(test) in functions for test in lost)

    def _weakened(self, methods: dict[SuiteFailure, Method]) -> tuple[PlantedChange, ...]:
        """The changes of the test files; empty when those of one cannot be made."""
        found = []
        for path in sorted({failure.path for failure in methods}):
            own = {failure: method for failure, method in methods.items() if failure.path == path}
            text = self.sources.texts.get(path)
            change = weaken(path, text, own) if text is not None else None
            if change is None:
                return ()
            found.append(change)
        return tuple(found)

    def _run(self, files: Collection[str] | None = None) -> Script[Ran]:
        """Run the suite once, or some of its files: the tests of others then count as passed."""
        suite = self.task.suite
        yield from tools.create("/tmp/look.sh", script_for(suite, files))
        done = yield from tools.bash("bash /tmp/look.sh >/tmp/log 2>&1; test -s /tmp/log", _limit(suite))
        if not done.ok:
            return Ran(ended=False)
        log = yield from tools.packed(f"tail -c {MOST_LOG} /tmp/log")
        data = encode(log)
        if finished(data) is None:
            return Ran(ended=False)
        outcomes = {record.id: record.outcome for record in parse_records(data)}
        passed = {test for test, outcome in outcomes.items() if outcome == "passed"}
        failed = {test for test, outcome in outcomes.items() if outcome == "failed"}
        meant = self.usable if files is None else {test for test in self.usable if file_of(test) in files}
        return Ran(frozenset(meant - passed), frozenset(failed), log, partial=files is not None)


def _limit(suite: Suite) -> float:
    """Seconds that a run may take: building comes on top of what the tests take."""
    return 60 + 3 * suite.wall_seconds


def _lines(log: str, name: str, path: str) -> frozenset[int]:
    """The lines of a file that a log names, by its path or its bare name; if the log tells which test failed, those
    after the test's name."""
    _, told, behind = log.partition(f"FAILED {name}\n")
    part = behind.partition("\nFAILED ")[0] if told else log
    found = _PLACE.findall(part.replace("\\t", " ").replace("\\n", " "))
    return frozenset(int(line) for where, line in found if line and _means(where, path))


def _means(where: str, path: str) -> bool:
    """Whether a log's word is the file at a path: as a whole, or one of the two as the end of the other."""
    said = where.removeprefix("./").lstrip("/")
    return f"/{path}".endswith(f"/{said}") or f"/{said}".endswith(f"/{path}")


def _failures(ran: Ran, tests: Collection[str]) -> Iterator[SuiteFailure]:
    """The failing tests with the lines of their files; one that fails because a subtest does is left out."""
    for test in sorted(tests):
        path, name = file_of(test), test.partition("::")[2]
        if not any(other.startswith(f"{test}/") for other in tests):
            yield SuiteFailure(path, name, _lines(ran.log, name, path))


def _removing(methods: dict[SuiteFailure, Method], left: Collection[str]) -> dict[SuiteFailure, Method]:
    """The same methods, except that tests that still fail are removed."""
    return {one: "remove" if f"{one.path}::{one.name}" in left else method for one, method in methods.items()}
