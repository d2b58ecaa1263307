"""The history strategy: reverts past changes of code that tests run."""

import random
import shlex

from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted import tools
from selfplay.scripted.edits.cuts import Change, Cut, apply_cuts, cuts_between
from selfplay.scripted.injector.history import Revert, carry, keep_defined, reverted_change, reverts
from selfplay.scripted.injector.past import log_command, past_changes
from selfplay.scripted.injector.planner import MOST_TESTS, Planner
from selfplay.scripted.injector.survey import Survey
from selfplay.scripted.policy import Script

PAIRS = 5
"""Past changes of a file examined in one try, per file the bug must touch."""
MOST_REVERTS = 8
"""Hunks and groups of hunks of one past change that are tried."""


class HistoryPlanner(Planner):
    """Reverts past changes of code that tests reach, on top of HEAD."""

    def __init__(self, task: InjectorTask, survey: Survey, rng: random.Random) -> None:
        super().__init__(task, survey, rng)
        self.past: list[tuple[str, str]] | None = None
        self.tried: set[tuple[str, str]] = set()

    def propose(self) -> Script[tuple[Change, ...]]:
        if self.past is None:
            self.past = yield from self._past_changes()
        if not self.past:
            return ()
        start = self.start(len(self.past))
        order = [pair for pair in self.past[start:] + self.past[:start] if pair not in self.tried]
        changes: list[Change] = []
        for commit, path in order[: PAIRS * self.task.min_changed_files]:
            if any(path == made.path for made in changes):
                continue
            made = yield from self._change(commit, path)
            if made is None or not changes:
                self.tried.add((commit, path))
            if made and self.may_join(changes, self.tests_of(made)):
                changes.append(made)
            if len(changes) == self.task.min_changed_files:
                return tuple(changes)
        return ()

    def _past_changes(self) -> Script[list[tuple[str, str]]]:
        """(commit, path) pairs of the past, for code files that tests reach, shuffled by the seed."""
        done = yield from tools.bash(log_command(self.task.commits))
        code = {target.path for target in self.survey.targets}
        pairs = [(commit, path) for commit, path in past_changes(done.output) if path in code]
        random.Random(f"deal:{self.task.seed}").shuffle(pairs)
        return pairs

    def _change(self, commit: str, path: str) -> Script[Change | None]:
        place = shlex.quote(path)
        diff = yield from self._said(f"git --no-pager diff --no-color --no-ext-diff -U0 {commit}^ {commit} -- {place}")
        new = yield from self._said(f"git --no-pager show {commit}:{place}")
        if diff is None or new is None:
            return None
        found = reverts(diff, new, f"{path} before {commit[:8]}", self.wanted(), self.rng)[:MOST_REVERTS]
        head = self.survey.texts[path]
        for revert in found:
            cuts = carry(head, revert)
            made = self._made(path, apply_cuts(head, cuts), cuts, revert.what) if cuts else None
            if made:
                return made
        return (yield from self._merged(path, found[0])) if found else None

    def _made(self, path: str, merged: str, cuts: tuple[Cut, ...], what: str) -> Change | None:
        """The change, if a fair number of tests run it; names that it lost and others need are put back first."""
        if not 0 < len(self.survey.tests_of_cuts(path, cuts)) <= MOST_TESTS:
            return None
        head = self.survey.texts[path]
        repaired = keep_defined(head, merged, self._needed(path))
        return reverted_change(path, head, repaired, cuts if repaired == merged else cuts_between(head, repaired), what)

    def _merged(self, path: str, revert: Revert) -> Script[Change | None]:
        """The revert by a three-way merge, when HEAD has changed too much for its context; None on a conflict."""
        yield from tools.create("/tmp/base", revert.base)
        yield from tools.create("/tmp/theirs", revert.theirs)
        merged = yield from self._said(f"git merge-file -p {shlex.quote(path)} /tmp/base /tmp/theirs")
        if merged is None:
            return None
        return self._made(path, merged, cuts_between(self.survey.texts[path], merged), revert.what)

    def _said(self, command: str) -> Script[str | None]:
        """The output of a command; None when it fails or prints more than one page."""
        done = yield from tools.bash(f"{command} 2>/dev/null")
        return done.output if done.ok and len(done.output) < tools.PAGE else None

    def _needed(self, path: str) -> set[str]:
        """Names of `path` that another file takes from it."""
        stem = path.removesuffix("/__init__.py").removesuffix(".py").split("/")[-1]
        return self.survey.imported_from(stem)
