"""The removal and the direct strategy: change single functions that tests run."""

import bisect
import builtins
import random
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from keyword import iskeyword

from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted.edits.cuts import Cut, PlantedChange, change
from selfplay.scripted.edits.names import Function
from selfplay.scripted.injector.direct import direct_cuts
from selfplay.scripted.injector.helpers import helper_cuts, override_cuts
from selfplay.scripted.injector.planner import MOST_TESTS, Planner
from selfplay.scripted.injector.removal import compose, removal_cuts
from selfplay.scripted.injector.special_cases import RARE, SIZES, special, together
from selfplay.scripted.injector.survey import Survey, Target
from selfplay.scripted.injector.target_order import in_turns, spread, wanted_lines
from selfplay.scripted.injector.tidy import tidied
from selfplay.scripted.policy import Script

NEIGHBOURS = 6
"""Functions of one file that one removal may touch."""
MOST_PARSED = 5_000_000
"""Characters of changed files that are parsed in one try; the next try continues with the remaining functions."""
WHOLE_SHARE = 0.5
"""How often a definition that can be removed whole is removed whole."""
FURTHER_SHARE, MOST_NEAR = 0.8, 8
"""How often another file is looked for that shares the behaviour, and how many of its functions are tried."""
MOST_SHARE = 0.6
"""The largest share of a function's lines that one cut may take: the rest still does what its name says."""
LEAST, MOST_SMALL = 7, 16
"""The least changed lines of a removal, and after how many smaller ones the largest of them is taken."""
TELLING = 25
"""A name that occurs more often in a file says nothing about a behaviour."""
COMMON = frozenset(["self", "cls", "args", "kwargs", "name", "value", "key", "result", "data", *dir(builtins)])
_WORD = re.compile(r"[A-Za-z_]\w*")


def reached_cuts(
    survey: Survey, target: Target, cuts: Callable[[Function, Sequence[str]], list[Cut]], lines: Sequence[str]
) -> list[Cut]:
    """The cuts of a function whose lines a test runs, and not too many."""
    found = cuts(survey.function_at(target), lines)
    return [cut for cut in found if 0 < len(survey.tests_of_cut(target.path, cut)) <= MOST_TESTS]


def whole_cuts(survey: Survey, target: Target, lines: Sequence[str]) -> tuple[Cut, ...]:
    """The cuts of the whole definition, if the rest of the file does not need it."""
    function = survey.function_at(target)
    overriding = tuple(override_cuts(function, survey.index, lines))
    return overriding or tuple(helper_cuts(target.path, function, survey.index, lines))


class FunctionPlanner(Planner):
    """Removal and direct: one function after another; with several files, also functions that other tests reach."""

    def __init__(self, task: InjectorTask, survey: Survey, rng: random.Random) -> None:
        super().__init__(task, survey, rng)
        self.targets = in_turns(survey.targets, task.seed)
        parts = [[one for one in self.targets if (len(one.tests) > MOST_TESTS) is many] for many in (False, True)]
        self.order = [target for part in parts for target in spread(part, task.turn)]
        self.tried: set[Target] = set()
        self.parsed = 0
        self.special = task.strategy != "direct"

    def propose(self) -> Script[tuple[PlantedChange, ...]]:
        """The first targets after the episode's starting place that offer a change and were not tried before. Besides
        the requested files, another file with a part of the same behaviour may join. A removal leaves out special cases
        while there are any, then whatever can be left out."""
        while True:
            before = len(self.tried)
            made = yield from self._proposed()
            if made or self.parsed > MOST_PARSED:
                return made
            if len(self.tried) == before:
                if not self.special:
                    return ()
                self.special = False
                self.tried.clear()

    def _proposed(self) -> Script[tuple[PlantedChange, ...]]:
        yield from ()
        changes: list[PlantedChange] = []
        small: list[tuple[Target, Sequence[Cut]]] = []
        self.parsed = 0
        for target in self.order:
            enough = len(changes) == self.task.min_changed_files or len(small) == MOST_SMALL
            if enough or self.parsed > MOST_PARSED:
                break
            taken = target in self.tried or any(target.path == made.path for made in changes)
            if taken or (changes and not self.may_join(changes, target.tests)):
                continue
            cuts = self._cuts(target)
            if self._are_small(cuts):
                small.append((target, cuts))
                self.tried.add(target)
                continue
            made = self._tidied(target, cuts)
            if made is None or not changes:
                self.tried.add(target)
            if made and self.may_join(changes, self.tests_of(made)):
                changes.append(made)
        if len(changes) == self.task.min_changed_files:
            return (*changes, *self._further(changes))
        return self._largest(small)

    def _are_small(self, cuts: Sequence[Cut]) -> bool:
        """Whether a one-file removal is so small that larger ones are tried first."""
        alone = self.task.strategy != "direct" and self.task.min_changed_files == 1
        return alone and 0 < sum(cut.size for cut in cuts) < LEAST

    def _largest(self, small: Sequence[tuple[Target, Sequence[Cut]]]) -> tuple[PlantedChange, ...]:
        """The change of the largest of some small cuts that make one."""
        for target, cuts in sorted(small, key=lambda one: -sum(cut.size for cut in one[1])):
            if made := self._tidied(target, cuts):
                return (made,)
        return ()

    def _further(self, changes: Sequence[PlantedChange]) -> list[PlantedChange]:
        """Sometimes a change of another file that shares a telling name with these, the rarest that there is; of these
        the one that most tests run alone: one of them must fail by it. Only for removal."""
        if self.task.strategy == "direct" or self.rng.random() > FURTHER_SHARE:
            return []
        joined = frozenset[int]().union(*map(self.tests_of, changes))
        for most in (RARE, TELLING):
            found = self._sharing(changes, most)
            if found:
                return [max(found, key=lambda made: len(self.tests_of(made) - joined))]
        return []

    def _sharing(self, changes: Sequence[PlantedChange], most: int) -> list[PlantedChange]:
        """Changes of other files that share a name with these which is no more often than `most` in its file."""
        told, files, found = self._telling(changes, most), {made.path for made in changes}, list[PlantedChange]()
        near = [t for t in self.targets if t.path not in files and told & self._words_of(t, most)]
        for target in [t for t in near if self.may_join(changes, t.tests)][:MOST_NEAR]:
            lines = self.survey.lines[target.path]
            cuts = [c for c in reached_cuts(self.survey, target, removal_cuts, lines) if told & _words(c, lines)]
            if self.special:
                cuts = self._moderate(target, special(self.survey, target, cuts))
            made = self._tidied(target, compose(cuts, wanted_lines(self.rng) // 2, self.rng))
            if made and self.may_join(changes, self.tests_of(made)):
                found.append(made)
        return found

    def _cuts(self, target: Target) -> Sequence[Cut]:
        """The cuts to make in a target; empty when it offers none."""
        lines = self.survey.lines[target.path]
        return self._mutation(target, lines) if self.task.strategy == "direct" else self._removal(target, lines)

    def _tidied(self, target: Target, cuts: Sequence[Cut]) -> PlantedChange | None:
        """The believable change these cuts make, if they make one."""
        if not cuts:
            return None
        text = self.survey.texts[target.path]
        self.parsed += len(text)
        made = change(target.path, text, cuts)
        return tidied(made, self.survey.taken_from(target.path), whole=self.task.strategy != "direct") if made else None

    def _mutation(self, target: Target, lines: Sequence[str]) -> Sequence[Cut]:
        """One mutation: every kind that the target offers is equally likely; within a kind, lines that few tests run
        are preferred."""
        found = reached_cuts(self.survey, target, direct_cuts, lines)
        if not found:
            return ()
        kind = self.rng.choice(sorted({cut.what for cut in found}))
        own = [cut for cut in found if cut.what == kind]
        fewest = min(len(self.survey.tests_of_cut(target.path, cut)) for cut in own)
        return [self.rng.choice([c for c in own if len(self.survey.tests_of_cut(target.path, c)) == fewest])]

    def _removal(self, target: Target, lines: Sequence[str]) -> tuple[Cut, ...]:
        """Cuts in the target of about the wanted size; if they are too small, also cuts in its nearest neighbours that
        share a telling name with them: parts of one behaviour."""
        if self.special:
            return self._special(target, lines)
        wanted = wanted_lines(self.rng)
        whole = whole_cuts(self.survey, target, lines)
        chosen = whole if whole and self.rng.random() < WHOLE_SHARE else ()
        for one in self._nearest(target):
            room = wanted - sum(cut.size for cut in chosen)
            if chosen and room <= wanted // 3:
                break
            found = [c for c in reached_cuts(self.survey, one, removal_cuts, lines) if not any(map(c.overlaps, chosen))]
            if chosen and one is not target:
                told = self._rare(target.path, chosen, lines)
                found = [cut for cut in found if told & _words(cut, lines)]
            length = one.end - self.survey.function_at(one).body[0].lineno + 1
            chosen += compose(
                [c for c in found if c.size <= length * MOST_SHARE], min(room, round(length * MOST_SHARE)), self.rng
            )
        return chosen

    def _special(self, target: Target, lines: Sequence[str]) -> tuple[Cut, ...]:
        """Cuts of special cases of the target, and of functions near it what belongs to them; or a whole definition."""
        wanted = wanted_lines(self.rng, SIZES)
        whole = whole_cuts(self.survey, target, lines)
        chosen = whole if whole and self.rng.random() < WHOLE_SHARE else ()
        for one in self._nearest(target) if not chosen else ():
            if not chosen and one is not target:
                break
            found = self._moderate(one, special(self.survey, one, reached_cuts(self.survey, one, removal_cuts, lines)))
            chosen += together(
                found, lambda cuts: frozenset(self._rare(target.path, cuts, lines, RARE)), chosen, wanted, self.rng
            )
        return chosen

    def _moderate(self, target: Target, cuts: Sequence[Cut]) -> list[Cut]:
        """The cuts that take no more than a share of the target's lines."""
        length = target.end - self.survey.function_at(target).body[0].lineno + 1
        return [cut for cut in cuts if cut.size <= length * MOST_SHARE]

    def _telling(self, changes: Sequence[PlantedChange], most: int) -> set[str]:
        """The names in the changed lines that are rare in their files."""
        lines = self.survey.lines
        return {word for made in changes for word in self._rare(made.path, made.cuts, lines[made.path], most)}

    def _rare(self, path: str, cuts: Sequence[Cut], lines: Sequence[str], most: int = TELLING) -> set[str]:
        """The telling names in the cut lines: those that are rare in the file."""
        often = self.survey.index.words[path]
        return {word for cut in cuts for word in _words(cut, lines) if often[word] <= most}

    def _words_of(self, target: Target, most: int) -> set[str]:
        return self._rare(target.path, [Cut(target.start, target.end)], self.survey.lines[target.path], most)

    def _nearest(self, target: Target) -> list[Target]:
        """The functions of its file, nearest first, starting with the target itself."""
        every = self.survey.by_file[target.path]
        at = bisect.bisect_left(every, target.start, key=lambda other: other.start)
        window = every[max(0, at - NEIGHBOURS) : at + NEIGHBOURS + 1]
        return sorted(window, key=lambda other: abs(other.start - target.start))[:NEIGHBOURS]


def _words(cut: Cut, lines: Sequence[str]) -> frozenset[str]:
    """The names in the lines that a cut replaces, without common ones."""
    return _words_in("".join(lines[cut.start - 1 : cut.end]))


@lru_cache(maxsize=10_000)
def _words_in(text: str) -> frozenset[str]:
    found = _WORD.findall(text)
    return frozenset(word for word in found if len(word) > 2 and not iskeyword(word) and word not in COMMON)
