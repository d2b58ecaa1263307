"""Which past change an episode turns back next, in a language without a survey."""

import random
from collections.abc import Sequence

from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted.edits.cuts import Cut, PlantedChange, apply_cuts
from selfplay.scripted.injector.git_log import past_change, past_pairs
from selfplay.scripted.injector.history import Revert, carry, reverts
from selfplay.scripted.injector.sources import Sources
from selfplay.scripted.injector.target_order import spread, wanted_lines
from selfplay.scripted.policy import Script, Stuck
from selfplay.scripted.tree_sitter.edits import made_of
from selfplay.syntax.grammar import suffixes

PAIRS, MOST_REVERTS, MOST_FURTHER, FURTHER_SHARE = 12, 6, 2, 0.5
"""Past changes examined in one try; hunks of one that are tried; other files of a commit that are reverted too, and how
often."""
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
        order = [pair for pair in spread(self.past, self.task.turn) if pair not in self.tried]
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
        return made_of(path, head, apply_cuts(head, cuts), revert.what) if cuts else None
