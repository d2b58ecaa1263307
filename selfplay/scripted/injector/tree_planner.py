"""Which change of functions an episode tries next, in a language without a survey."""

import random
from collections.abc import Callable, Sequence

from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted.edits.cuts import Cut, PlantedChange
from selfplay.scripted.injector.removal import compose
from selfplay.scripted.injector.sources import SourcePlace, Sources
from selfplay.scripted.injector.special_cases import RARE, SIZES, together
from selfplay.scripted.injector.target_order import in_turns, spread, wanted_lines
from selfplay.scripted.policy import Script
from selfplay.scripted.tree_sitter.edits import made
from selfplay.scripted.tree_sitter.mutations import mutation_cuts
from selfplay.scripted.tree_sitter.removals import removal_cuts
from selfplay.syntax.source import first_line, last_line

LEAST, MOST_SMALL = (4, 10), 10
"""Between which an episode draws the changed lines that a removal has at least, and after how many smaller ones the
largest of them is taken. Were it the same for all, those of a small repository would end at the same few functions."""
MOST_SHARE = 0.6
"""Of the lines of a function, the most that one cut may take: what is left still does what its name says."""
ROUNDS = 3
"""How often a function comes up in an episode: what is cut of it is drawn anew. A removal leaves out special cases in
all rounds but the last."""
COMPOSED = 4
"""How often cuts of one function are put together anew, where they make no believable change."""
NEIGHBOURS = 6
"""Functions of one file that one removal may touch."""


class TreePlanner:
    """Removal and direct: one function after another, those that tests name first."""

    def __init__(self, task: InjectorTask, sources: Sources, rng: random.Random) -> None:
        self.task, self.sources, self.rng = task, sources, rng
        places = in_turns(sources.places, task.seed)
        parts = [[place for place in places if place.named is named] for named in (True, False)]
        order = [place for part in parts for place in spread(part, task.turn)]
        self.waiting = [(place, round < ROUNDS - 1) for round in range(ROUNDS) for place in order]
        self.least = rng.randint(*LEAST)
        self.small: list[PlantedChange] = []

    def propose(self) -> Script[tuple[PlantedChange, ...]]:
        """The next change, or as many as files are asked for; empty when nothing is left. A removal of few lines waits
        for a larger one."""
        yield from ()
        changes: list[PlantedChange] = []
        several = self.task.min_changed_files > 1
        while self.waiting and (several or len(self.small) < MOST_SMALL):
            place, special = self.waiting.pop(0)
            change = self._change(place, special) if all(place.path != one.path for one in changes) else None
            if change is None:
                continue
            if self.task.strategy != "direct" and change.size < self.least and not several:
                self.small.append(change)
                continue
            changes.append(change)
            if len(changes) == self.task.min_changed_files:
                return tuple(changes)
        self.small.sort(key=lambda change: -change.size)
        return (self.small.pop(0),) if self.small else ()

    def _change(self, place: SourcePlace, special: bool) -> PlantedChange | None:
        """A believable change of a function, if it offers one."""
        text = self.sources.texts[place.path]
        whole = self.task.strategy != "direct"
        choices = self._removals(place, special) if whole else self._mutations(place)
        found = (made(place.path, text, way, whole=whole) for way in choices if way)
        return next((change for change in found if change is not None), None)

    def _mutations(self, place: SourcePlace) -> list[Sequence[Cut]]:
        cuts = mutation_cuts(self.sources.source(place.path), self.sources.function(place))
        kinds = sorted({cut.what for cut in cuts})
        self.rng.shuffle(kinds)
        return [[self.rng.choice([cut for cut in cuts if cut.what == kind])] for kind in kinds[:COMPOSED]]

    def _removals(self, place: SourcePlace, special: bool) -> list[Sequence[Cut]]:
        cuts = self._moderate(place)
        if not special:
            length = self._length(place)
            sizes = [min(wanted_lines(self.rng), round(length * MOST_SHARE)) for _ in range(COMPOSED if cuts else 0)]
            return [compose(cuts, size, self.rng) for size in sizes]
        if not any(cut.case for cut in cuts):
            return []
        cases = [[cut for cut in self._moderate(one) if cut.case] for one in self._nearest(place)]
        return [self._special(place.path, cases) for _ in range(COMPOSED)]

    def _special(self, path: str, cases: Sequence[Sequence[Cut]]) -> tuple[Cut, ...]:
        """Cuts of special cases of a function, and of functions near it what belongs to them. `cases`: what each of
        them offers, the function's own first."""
        wanted, chosen = wanted_lines(self.rng, SIZES), tuple[Cut, ...]()
        for number, offered in enumerate(cases):
            if number and not chosen:
                break
            chosen += together(offered, self._told(path), chosen, wanted, self.rng)
        return chosen

    def _moderate(self, place: SourcePlace) -> list[Cut]:
        """The cuts that take no more than a share of the function's lines."""
        most = self._length(place) * MOST_SHARE
        found = removal_cuts(self.sources.source(place.path), self.sources.function(place))
        return [cut for cut in found if cut.size <= most]

    def _length(self, place: SourcePlace) -> int:
        node = self.sources.function(place).node
        return last_line(node) - first_line(node) + 1

    def _told(self, path: str) -> Callable[[Sequence[Cut]], frozenset[str]]:
        """The names in the lines of cuts that are rare in their file."""
        rare, none = self.sources.rare_names(path, RARE), frozenset[str]()
        return lambda cuts: none.union(*(rare.get(n, none) for cut in cuts for n in range(cut.start, cut.end + 1)))

    def _nearest(self, place: SourcePlace) -> list[SourcePlace]:
        """The functions of its file, nearest first, starting with the function itself."""
        own = [one for one in self.sources.places if one.path == place.path]
        return sorted(own, key=lambda one: abs(one.number - place.number))[:NEIGHBOURS]
