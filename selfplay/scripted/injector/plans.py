"""Which code an episode works on, per strategy: proposals of changes, in an order the seed fixes.

The targets of a repository are laid out once per run, shuffled, files taking turns; each episode starts at a place of
its own, by the golden ratio far from those of the episodes before. So bugs spread over the repository whatever the
workers do.
"""

import random
import shlex
from collections.abc import Sequence
from typing import Protocol

from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted import tools
from selfplay.scripted.edits.cuts import Change, Cut, apply_cuts, change, split_lines
from selfplay.scripted.edits.names import Function
from selfplay.scripted.injector.direct import direct_cuts
from selfplay.scripted.injector.helpers import helper_cuts, override_cuts
from selfplay.scripted.injector.history import (
    Revert,
    carry,
    cuts_between,
    keep_defined,
    reverted_change,
    reverts,
)
from selfplay.scripted.injector.past import log_command, past_changes
from selfplay.scripted.injector.removal import compose, removal_cuts
from selfplay.scripted.injector.survey import Survey, Target
from selfplay.scripted.policy import Script

GOLDEN = (5**0.5 - 1) / 2
SIZES = (3.5, 5.3)
"""Powers of two between which the wanted number of changed lines is drawn: 11 to 40."""
NEIGHBOURS = 6
"""Functions of one file one removal may touch."""
WHOLE_SHARE = 0.5
"""How often a definition that can go as a whole goes as a whole."""


PAIRS = 5
"""Past changes of a file looked through in one try, per file the bug must touch."""
MOST_REVERTS = 8
"""Hunks and groups of hunks of one past change that are tried."""
MOST_TESTS = 60
"""Tests that may run the changed lines: where more do, a bug is mostly too loud, and looking at it costs more."""


class Planner(Protocol):
    """Proposes bugs."""

    def propose(self) -> Script[tuple[Change, ...]]:
        """The changes to try next; empty when nothing was found this time."""
        ...

    def tests_of(self, change: Change) -> frozenset[int]:
        """Numbers of the tests that run a changed line."""
        ...


def planner_for(task: InjectorTask, survey: Survey, rng: random.Random) -> Planner:
    if task.strategy == "history":
        return HistoryPlanner(task, survey, rng)
    return FunctionPlanner(task, survey, rng)


def dealt(survey: Survey, seed: int) -> list[Target]:
    """All targets, shuffled by `seed`, files taking turns; those most of the suite runs come last."""
    rng = random.Random(f"deal:{seed}")
    by_file: dict[str, list[Target]] = {}
    for target in survey.targets:
        by_file.setdefault(target.path, []).append(target)
    piles = list(by_file.values())
    rng.shuffle(piles)
    for pile in piles:
        rng.shuffle(pile)
        pile.sort(key=lambda target: len(target.tests) > MOST_TESTS)
    rounds = max((len(pile) for pile in piles), default=0)
    return [pile[i] for i in range(rounds) for pile in piles if i < len(pile)]


def exclusive(chosen: Sequence[frozenset[int]], tests: frozenset[int]) -> bool:
    """Whether `tests` and each of `chosen` all have a test that none of the others has."""
    sets = [*chosen, tests]
    return all(one - frozenset().union(*(other for other in sets if other is not one)) for one in sets)


def _start(number: int, size: int) -> int:
    """Where episode `number` begins among `size` places: evenly spread, however many episodes there will be."""
    return int(size * (GOLDEN * number % 1.0))


class _Base:
    def __init__(self, task: InjectorTask, survey: Survey, rng: random.Random) -> None:
        self.task, self.survey, self.rng = task, survey, rng

    def tests_of(self, change: Change) -> frozenset[int]:
        return self.survey.tests_of_cuts(change.path, change.cuts)

    def _wanted(self) -> int:
        """How many changed lines to aim at this time."""
        return round(2 ** self.rng.uniform(*SIZES))


class FunctionPlanner(_Base):
    """Removal and direct: one function after the other; with several files, companions other tests reach."""

    def __init__(self, task: InjectorTask, survey: Survey, rng: random.Random) -> None:
        super().__init__(task, survey, rng)
        self.targets = dealt(survey, task.seed)
        self.tried: set[Target] = set()

    def propose(self) -> Script[tuple[Change, ...]]:
        """The first targets from the episode's place on that offer something and were not tried before."""
        yield from ()
        if not self.targets:
            return ()
        start = _start(self.task.number, len(self.targets))
        order = self.targets[start:] + self.targets[:start]
        changes: list[Change] = []
        for target in order:
            if len(changes) == self.task.min_changed_files:
                break
            taken = target in self.tried or any(target.path == made.path for made in changes)
            if taken or (changes and not exclusive([self.tests_of(made) for made in changes], target.tests)):
                continue
            made = self._change(target)
            if made is None or not changes:
                self.tried.add(target)
            if made and exclusive([self.tests_of(c) for c in changes], self.tests_of(made)):
                changes.append(made)
        return tuple(changes) if len(changes) == self.task.min_changed_files else ()

    def _change(self, target: Target) -> Change | None:
        text = self.survey.texts[target.path]
        lines = split_lines(text)
        if self.task.strategy == "direct":
            found = self._reached(target, direct_cuts(self.survey.function_at(target), lines))
            return change(target.path, text, [self.rng.choice(found)]) if found else None
        cuts = self._removal(target, lines)
        return change(target.path, text, cuts) if cuts else None

    def _removal(self, target: Target, lines: Sequence[str]) -> tuple[Cut, ...]:
        """About the wanted size: cuts in the target, and where they are too small, in its nearest neighbours too."""
        wanted = self._wanted()
        function = self.survey.function_at(target)
        whole = self._whole(target, function, lines)
        chosen = whole if whole and self.rng.random() < WHOLE_SHARE else ()
        near = [t for t in self.survey.targets if t.path == target.path]
        for one in sorted(near, key=lambda t: abs(t.start - target.start))[:NEIGHBOURS]:
            room = wanted - sum(cut.size for cut in chosen)
            if chosen and room <= wanted // 3:
                break
            found = self._reached(one, removal_cuts(self.survey.function_at(one), lines))
            chosen += compose([cut for cut in found if not any(map(cut.overlaps, chosen))], room, self.rng)
        return chosen

    def _whole(self, target: Target, function: Function, lines: Sequence[str]) -> tuple[Cut, ...]:
        """The whole definition, where the rest of the file can do without."""
        survey, path = self.survey, target.path
        overriding = tuple(override_cuts(path, function, survey.trees, lines))
        return overriding or tuple(helper_cuts(path, function, survey.texts, survey.trees[path], lines))

    def _reached(self, target: Target, cuts: Sequence[Cut]) -> list[Cut]:
        return [cut for cut in cuts if 0 < len(self.survey.tests_of_cut(target.path, cut)) <= MOST_TESTS]


class HistoryPlanner(_Base):
    """Past changes of code that tests reach, turned back onto HEAD."""

    def __init__(self, task: InjectorTask, survey: Survey, rng: random.Random) -> None:
        super().__init__(task, survey, rng)
        self.past: list[tuple[str, str]] | None = None
        self.tried: set[tuple[str, str]] = set()

    def propose(self) -> Script[tuple[Change, ...]]:
        if self.past is None:
            self.past = yield from self._past_changes()
        if not self.past:
            return ()
        start = _start(self.task.number, len(self.past))
        order = [pair for pair in self.past[start:] + self.past[:start] if pair not in self.tried]
        changes: list[Change] = []
        for commit, path in order[: PAIRS * self.task.min_changed_files]:
            if any(path == made.path for made in changes):
                continue
            made = yield from self._change(commit, path)
            if made is None or not changes:
                self.tried.add((commit, path))
            if made and exclusive([self.tests_of(c) for c in changes], self.tests_of(made)):
                changes.append(made)
            if len(changes) == self.task.min_changed_files:
                return tuple(changes)
        return ()

    def _past_changes(self) -> Script[list[tuple[str, str]]]:
        """(commit, path) pairs of the past, for code files tests reach, dealt like targets."""
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
        found = reverts(diff, new, f"{path} before {commit[:8]}", self._wanted(), self.rng)[:MOST_REVERTS]
        head = self.survey.texts[path]
        for revert in found:
            cuts = carry(head, revert)
            made = self._made(path, apply_cuts(head, cuts), cuts, revert.what) if cuts else None
            if made:
                return made
        return (yield from self._merged(path, found[0])) if found else None

    def _made(self, path: str, merged: str, cuts: tuple[Cut, ...], what: str) -> Change | None:
        """The change, if a fair number of tests run it; what it lost and others need is put back first."""
        if not 0 < len(self.survey.tests_of_cuts(path, cuts)) <= MOST_TESTS:
            return None
        head = self.survey.texts[path]
        repaired = keep_defined(head, merged, self._needed(path))
        return reverted_change(path, head, repaired, cuts if repaired == merged else cuts_between(head, repaired), what)

    def _merged(self, path: str, revert: Revert) -> Script[Change | None]:
        """The revert by a three-way merge, where HEAD has moved on too far for its context; None on a conflict."""
        yield from tools.create("/tmp/base", revert.base)
        yield from tools.create("/tmp/theirs", revert.theirs)
        merged = yield from self._said(f"git merge-file -p {shlex.quote(path)} /tmp/base /tmp/theirs")
        if merged is None:
            return None
        return self._made(path, merged, cuts_between(self.survey.texts[path], merged), revert.what)

    def _said(self, command: str) -> Script[str | None]:
        """What a command prints, None when it fails or prints more than one page."""
        done = yield from tools.bash(f"{command} 2>/dev/null")
        return done.output if done.ok and len(done.output) < tools.PAGE else None

    def _needed(self, path: str) -> set[str]:
        """Names of `path` that another file takes from it."""
        stem = path.removesuffix("/__init__.py").removesuffix(".py").split("/")[-1]
        return self.survey.imported_from(stem)
