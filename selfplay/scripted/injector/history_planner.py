"""The history strategy: reverts past changes of code that tests run."""

import random
import shlex

from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted import tools
from selfplay.scripted.edits.cuts import Cut, PlantedChange, apply_cuts, cuts_between
from selfplay.scripted.injector.git_log import past_change, past_pairs
from selfplay.scripted.injector.history import Revert, carry, keep_defined, reverted_change, reverts
from selfplay.scripted.injector.lost_imports import imports_what_is_gone
from selfplay.scripted.injector.planner import MOST_TESTS, Planner
from selfplay.scripted.injector.survey import Survey
from selfplay.scripted.injector.target_order import spread, wanted_lines
from selfplay.scripted.injector.tidy import tidied
from selfplay.scripted.policy import Script

PAIRS = 5
"""Past changes of a file examined in one try, per file the bug must touch."""
MOST_REVERTS = 8
"""Hunks and groups of hunks of one past change that are tried."""
FURTHER_SHARE, MOST_FURTHER = 0.9, 2
"""How often the other files of a commit are reverted too, and how many."""


class HistoryPlanner(Planner):
    """Reverts past changes of code that tests reach, on top of HEAD."""

    def __init__(self, task: InjectorTask, survey: Survey, rng: random.Random) -> None:
        super().__init__(task, survey, rng)
        self.past: list[tuple[str, str]] | None = None
        self.tried: set[tuple[str, str]] = set()

    def propose(self) -> Script[tuple[PlantedChange, ...]]:
        if self.past is None:
            code = {target.path for target in self.survey.targets}
            self.past = yield from past_pairs(self.task.commits, code, self.task.seed)
        order = [pair for pair in spread(self.past, self.task.turn) if pair not in self.tried]
        changes: list[PlantedChange] = []
        for commit, path in order[: PAIRS * self.task.min_changed_files]:
            if any(path == made.path for made in changes):
                continue
            made = yield from self._change(commit, path)
            if made is None or not changes:
                self.tried.add((commit, path))
            if made and self.may_join(changes, self.tests_of(made)):
                changes.append(made)
            if len(changes) == self.task.min_changed_files:
                return (*changes, *(yield from self._further(commit, changes)))
        return ()

    def _further(self, commit: str, changes: list[PlantedChange]) -> Script[list[PlantedChange]]:
        """Sometimes the same commit's changes of other files: a fix is reverted whole, as far as tests see each
        part."""
        found: list[PlantedChange] = []
        if self.rng.random() > FURTHER_SHARE or self.past is None:
            return found
        files = {made.path for made in changes}
        for path in [path for other, path in self.past if other == commit and path not in files][:MOST_FURTHER]:
            made = yield from self._change(commit, path)
            if made and self.may_join([*changes, *found], self.tests_of(made)):
                found.append(made)
        return found

    def _change(self, commit: str, path: str) -> Script[PlantedChange | None]:
        found = yield from past_change(commit, path)
        if found is None:
            return None
        undone = reverts(*found, f"{path} before {commit[:8]}", wanted_lines(self.rng), self.rng)[:MOST_REVERTS]
        head = self.survey.texts[path]
        for revert in undone:
            cuts = carry(head, revert)
            made = self._made(path, apply_cuts(head, cuts), cuts, revert.what) if cuts else None
            if made:
                return made
        return (yield from self._merged(path, undone[0])) if undone else None

    def _made(self, path: str, merged: str, cuts: tuple[Cut, ...], what: str) -> PlantedChange | None:
        """The change, if a fair number of tests run it, it finds what it imports and the rest fits it; names that it
        lost and others need are put back first."""
        if not 0 < len(self.survey.tests_of_cuts(path, cuts)) <= MOST_TESTS:
            return None
        head = self.survey.texts[path]
        repaired = keep_defined(head, merged, self.survey.taken_from(path))
        whole = cuts if repaired == merged else cuts_between(head, repaired)
        made = reverted_change(path, head, repaired, whole, what)
        if not made or imports_what_is_gone(path, head, repaired, self.survey.index):
            return None
        if self.survey.fit.misfit(path, made.after or ""):
            return None
        return tidied(made, self.survey.taken_from(path))

    def _merged(self, path: str, revert: Revert) -> Script[PlantedChange | None]:
        """The revert by a three-way merge, when HEAD has changed too much for its context; None on a conflict."""
        yield from tools.create("/tmp/base", revert.base)
        yield from tools.create("/tmp/theirs", revert.theirs)
        merged = yield from tools.printed(f"git merge-file -p {shlex.quote(path)} /tmp/base /tmp/theirs")
        if merged is None:
            return None
        return self._made(path, merged, cuts_between(self.survey.texts[path], merged), revert.what)
