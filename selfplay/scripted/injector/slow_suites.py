"""Of a slow suite a bug's script runs the test files that reach its code; changes that need all of it come last."""

from collections.abc import Callable, Collection

from selfplay.repository import Suite
from selfplay.repository.suites.pytest_suite import file_of
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.policy import Script

SLOW_SECONDS, MOST_SHARE = 15.0, 0.5
"""A suite that takes more core seconds, which do not depend on other work, is cut to the test files that reach the
changed code, if they take at most this share of it."""
MOST_DISTANT = 20
"""Changes of an episode that wait behind others."""
Changes = tuple[PlantedChange, ...]


def is_slow(suite: Suite) -> bool:
    """Whether a bug's script may leave out test files."""
    return suite.cpu_seconds > SLOW_SECONDS and suite.command is None


def reaching_files(suite: Suite, ids: Collection[str], least: int) -> list[str] | None:
    """Of a slow suite, the test files with `ids`, the tests that run a changed line: None, for all files, where that
    would save too little (such a script is run on the original for each bug) or leave fewer than `least` others."""
    if not is_slow(suite):
        return None
    files = {file_of(test) for test in ids}
    left = sum(file_of(test) in files for test in suite.seconds)
    return sorted(files) if share_of(suite, files) <= MOST_SHARE and left >= least + len(ids) else None


def share_of(suite: Suite, files: Collection[str]) -> float:
    """The share of a suite's seconds that the tests of some files take."""
    own = sum(seconds for test, seconds in suite.seconds.items() if file_of(test) in files)
    return own / max(sum(suite.seconds.values()), 1e-9)


class NearFirst:
    """What a planner proposes, changes that are `distant` (the whole suite would have to run for them) last."""

    def __init__(self, propose: Callable[[], Script[Changes]], is_distant: Callable[[Changes], bool]) -> None:
        self._propose, self._is_distant = propose, is_distant
        self._waiting: list[Changes] = []

    def propose(self) -> Script[Changes]:
        """The next changes; empty when nothing is left."""
        while True:
            changes = yield from self._propose()
            if not changes:
                return self._waiting.pop(0) if self._waiting else ()
            if len(self._waiting) == MOST_DISTANT or not self._is_distant(changes):
                return changes
            self._waiting.append(changes)
