"""Changes that remove what stands in another copy of the project are not proposed: a solver could read it there."""

from collections.abc import Callable, Sequence

from selfplay.patches.lines import split_lines
from selfplay.repository.copies import Copies
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.injector.slow_suites import Changes
from selfplay.scripted.policy import Script

MOST_SHARE = 1 / 3
"""Of what a change removes, the most that a copy may hold; the leak audit calls as much a leak."""


def new_only(propose: Callable[[], Script[Changes]], copies: Copies) -> Callable[[], Script[Changes]]:
    """What a planner proposes, without changes that a copy of the project gives away."""

    def proposed() -> Script[Changes]:
        while True:
            changes = yield from propose()
            if not changes or copies.share(_removed(changes)) < MOST_SHARE:
                return changes

    return proposed if copies.places else propose


def _removed(changes: Sequence[PlantedChange]) -> list[str]:
    """The blocks of lines that are cut, without those that stay."""
    found = list[str]()
    for change in changes:
        lines = split_lines(change.before)
        for cut in change.cuts:
            found.append("".join(one for one in lines[cut.start - 1 : cut.end] if one.rstrip("\r\n") not in cut.lines))
    return found
