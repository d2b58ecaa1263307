"""Which change an episode tries next, in a language without a survey: by function, or from the past."""

import random
from collections.abc import Sequence

from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted.edits.cuts import Cut, PlantedChange, apply_cuts
from selfplay.scripted.injector.git_log import past_change, past_pairs
from selfplay.scripted.injector.history import Revert, carry, reverts
from selfplay.scripted.injector.removal import compose
from selfplay.scripted.injector.sources import SourcePlace, Sources, suffixes
from selfplay.scripted.injector.target_order import in_turns, rotated, wanted_lines
from selfplay.scripted.policy import Script, Stuck
from selfplay.scripted.tree_sitter.edits import made, made_of
from selfplay.scripted.tree_sitter.mutations import mutation_cuts
from selfplay.scripted.tree_sitter.removals import removal_cuts

LEAST, MOST_SMALL = 7, 10
"""Changed lines of a removal, and after how many smaller ones the largest of them is taken."""
MOST_SHARE = 0.6
"""Of the lines of a function, the most that one cut may take: what is left still does what its name says."""
ROUNDS = 3
"""How often a function comes up in an episode: what is cut of it is drawn anew."""
COMPOSED = 4
"""How often cuts of one function are put together anew, where they make no believable change."""
PAIRS, MOST_REVERTS, MOST_FURTHER, FURTHER_SHARE = 12, 6, 2, 0.5
"""Past changes examined in one try; hunks of one that are tried; other files of a commit that are reverted too, and how
often."""


class TreePlanner:
    """Removal and direct: one function after another, those that tests name first."""

    def __init__(self, task: InjectorTask, sources: Sources, rng: random.Random) -> None:
        self.task, self.sources, self.rng = task, sources, rng
        places = in_turns(sources.places, task.seed)
        parts = [[place for place in places if place.named is named] for named in (True, False)]
        order = [place for part in parts for place in rotated(part, task.number)]
        self.waiting = order * ROUNDS
        self.small: list[PlantedChange] = []

    def propose(self) -> Script[tuple[PlantedChange, ...]]:
        """The next change, or as many as files are asked for; empty when nothing is left. A removal of few lines waits
        for a larger one."""
        yield from ()
        changes: list[PlantedChange] = []
        several = self.task.min_changed_files > 1
        while self.waiting and (several or len(self.small) < MOST_SMALL):
            place = self.waiting.pop(0)
            change = self._change(place) if all(place.path != one.path for one in changes) else None
            if change is None:
                continue
            if self.task.strategy != "direct" and change.size < LEAST and not several:
                self.small.append(change)
                continue
            changes.append(change)
            if len(changes) == self.task.min_changed_files:
                return tuple(changes)
        self.small.sort(key=lambda change: -change.size)
        return (self.small.pop(0),) if self.small else ()

    def _change(self, place: SourcePlace) -> PlantedChange | None:
        """A believable change of a function, if it offers one."""
        source, function = self.sources.source(place.path), self.sources.function(place)
        text, language = self.sources.texts[place.path], self.sources.language
        if self.task.strategy == "direct":
            cuts = mutation_cuts(source, function)
            kinds = sorted({cut.what for cut in cuts})
            self.rng.shuffle(kinds)
            ways = [[self.rng.choice([cut for cut in cuts if cut.what == kind])] for kind in kinds[:COMPOSED]]
        else:
            length = function.node.end_point[0] - function.node.start_point[0] + 1
            cuts = [cut for cut in removal_cuts(source, function) if cut.size <= length * MOST_SHARE]
            room = round(length * MOST_SHARE)
            ways = [
                list(compose(cuts, min(wanted_lines(self.rng), room), self.rng)) for _ in range(COMPOSED if cuts else 0)
            ]
        found = (made(place.path, language, text, way) for way in ways if way)
        return next((change for change in found if change is not None), None)


NO_PAST = "no earlier commit changes the product's code: a clone of the last commit alone has none"


class PastPlanner:
    """History: what past commits did to the product's files, turned back on top of HEAD."""

    def __init__(self, task: InjectorTask, sources: Sources, rng: random.Random) -> None:
        self.task, self.sources, self.rng = task, sources, rng
        self.past: list[tuple[str, str]] | None = None
        self.tried: set[tuple[str, str]] = set()

    def propose(self) -> Script[tuple[PlantedChange, ...]]:
        """The next change, at times with what the same commit did to other files; empty when nothing was found.
        Raises `Stuck` where there is no past."""
        if self.past is None:
            code = {place.path for place in self.sources.places}
            endings = suffixes(self.sources.language)
            self.past = yield from past_pairs(self.task.commits, code, self.task.seed, endings, "--min-parents=1")
            if not self.past:
                raise Stuck(NO_PAST)
        order = [pair for pair in rotated(self.past, self.task.number) if pair not in self.tried]
        for commit, path in order[:PAIRS]:
            self.tried.add((commit, path))
            change = yield from self._change(commit, path)
            if change is not None:
                changes = [change, *(yield from self._further(commit, path))]
                return tuple(changes) if len(changes) >= self.task.min_changed_files else ()
        return ()

    def _further(self, commit: str, path: str) -> Script[list[PlantedChange]]:
        found: list[PlantedChange] = []
        if self.task.min_changed_files == 1 and self.rng.random() > FURTHER_SHARE:
            return found
        others = [other for which, other in self.past or () if which == commit and other != path]
        for other in others[: max(MOST_FURTHER, self.task.min_changed_files)]:
            change = yield from self._change(commit, other)
            found += [change] if change is not None else []
        return found

    def _change(self, commit: str, path: str) -> Script[PlantedChange | None]:
        found = yield from past_change(commit, path)
        if found is None:
            return None
        undone = reverts(*found, f"{path} before {commit[:8]}", wanted_lines(self.rng), self.rng)
        return next((made for one in undone[:MOST_REVERTS] if (made := self._made(path, one)) is not None), None)

    def _made(self, path: str, revert: Revert) -> PlantedChange | None:
        head = self.sources.texts[path]
        cuts: Sequence[Cut] | None = carry(head, revert)
        return made_of(path, self.sources.language, head, apply_cuts(head, cuts), revert.what) if cuts else None
