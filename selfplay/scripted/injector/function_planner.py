"""The removal and the direct strategy: change single functions that tests run."""

import bisect
import random
from collections.abc import Callable, Sequence

from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted.edits.cuts import Change, Cut, change
from selfplay.scripted.edits.names import Function
from selfplay.scripted.injector.direct import direct_cuts
from selfplay.scripted.injector.helpers import helper_cuts, override_cuts
from selfplay.scripted.injector.planner import MOST_TESTS, Planner
from selfplay.scripted.injector.removal import compose, removal_cuts
from selfplay.scripted.injector.survey import Survey, Target
from selfplay.scripted.policy import Script

NEIGHBOURS = 6
"""Functions of one file that one removal may touch."""
MOST_PARSED = 5_000_000
"""Characters of changed files that are parsed in one try; the next try continues with the remaining functions."""
WHOLE_SHARE = 0.5
"""How often a definition that can be removed whole is removed whole."""


def in_turns(survey: Survey, seed: int) -> list[Target]:
    """All targets, shuffled by `seed`, alternating between files; those that most of the suite runs come last."""
    rng = random.Random(f"deal:{seed}")
    by_file: dict[str, list[Target]] = {}
    for target in survey.targets:
        by_file.setdefault(target.path, []).append(target)
    files = list(by_file.values())
    rng.shuffle(files)
    for targets in files:
        rng.shuffle(targets)
        targets.sort(key=lambda target: len(target.tests) > MOST_TESTS)
    rounds = max((len(targets) for targets in files), default=0)
    return [targets[i] for i in range(rounds) for targets in files if i < len(targets)]


def reached_cuts(
    survey: Survey, target: Target, cuts: Callable[[Function, Sequence[str]], list[Cut]], lines: Sequence[str]
) -> list[Cut]:
    """The cuts of a function whose lines a test runs, and not too many."""
    found = cuts(survey.function_at(target), lines)
    return [cut for cut in found if 0 < len(survey.tests_of_cut(target.path, cut)) <= MOST_TESTS]


def whole_cuts(survey: Survey, target: Target, lines: Sequence[str]) -> tuple[Cut, ...]:
    """The whole definition, if the rest of the file can do without it."""
    function = survey.function_at(target)
    overriding = tuple(override_cuts(function, survey.index, lines))
    return overriding or tuple(helper_cuts(target.path, function, survey.index, lines))


class FunctionPlanner(Planner):
    """Removal and direct: one function after another; with several files, also functions that other tests reach."""

    def __init__(self, task: InjectorTask, survey: Survey, rng: random.Random) -> None:
        super().__init__(task, survey, rng)
        self.targets = in_turns(survey, task.seed)
        self.tried: set[Target] = set()
        self.parsed = 0

    def propose(self) -> Script[tuple[Change, ...]]:
        """The first targets after the episode's starting place that offer a change and were not tried before."""
        yield from ()
        if not self.targets:
            return ()
        start = self.start(len(self.targets))
        order = self.targets[start:] + self.targets[:start]
        changes: list[Change] = []
        self.parsed = 0
        for target in order:
            if len(changes) == self.task.min_changed_files or self.parsed > MOST_PARSED:
                break
            taken = target in self.tried or any(target.path == made.path for made in changes)
            if taken or (changes and not self.may_join(changes, target.tests)):
                continue
            made = self._change(target)
            if made is None or not changes:
                self.tried.add(target)
            if made and self.may_join(changes, self.tests_of(made)):
                changes.append(made)
        return tuple(changes) if len(changes) == self.task.min_changed_files else ()

    def _change(self, target: Target) -> Change | None:
        text, lines = self.survey.texts[target.path], self.survey.lines[target.path]
        if self.task.strategy == "direct":
            found = reached_cuts(self.survey, target, direct_cuts, lines)
            cuts: Sequence[Cut] = [self.rng.choice(found)] if found else ()
        else:
            cuts = self._removal(target, lines)
        if not cuts:
            return None
        self.parsed += len(text)
        return change(target.path, text, cuts)

    def _removal(self, target: Target, lines: Sequence[str]) -> tuple[Cut, ...]:
        """Cuts in the target of about the wanted size; if they are too small, also in its nearest neighbours."""
        wanted = self.wanted()
        whole = whole_cuts(self.survey, target, lines)
        chosen = whole if whole and self.rng.random() < WHOLE_SHARE else ()
        for one in self._nearest(target):
            room = wanted - sum(cut.size for cut in chosen)
            if chosen and room <= wanted // 3:
                break
            found = reached_cuts(self.survey, one, removal_cuts, lines)
            chosen += compose([cut for cut in found if not any(map(cut.overlaps, chosen))], room, self.rng)
        return chosen

    def _nearest(self, target: Target) -> list[Target]:
        """The functions of its file, nearest first, starting with the target itself."""
        every = self.survey.by_file[target.path]
        at = bisect.bisect_left(every, target.start, key=lambda other: other.start)
        window = every[max(0, at - NEIGHBOURS) : at + NEIGHBOURS + 1]
        return sorted(window, key=lambda other: abs(other.start - target.start))[:NEIGHBOURS]
