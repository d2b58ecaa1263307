"""Attempts of a training run that could not be played, step after step: a machine that broke loses all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from selfplay.formatting import count
from selfplay.loop.errors import TrainingError

MOST_IN_A_ROW, LEAST_BUGS = 8, 2
"""Attempts in a row, at this many bugs or more: a single bug may itself be to blame."""


@dataclass
class UnplayedInARow:
    """The attempts, as (bug, number), since the last one that was played."""

    attempts: set[tuple[str, int]] = field(default_factory=set)

    def note(self, unplayed: Mapping[tuple[str, int], str], planned: int) -> None:
        """The attempts of a step that could not be played, with the reasons, out of those `planned`. Raises
        `TrainingError` when no attempt was played for so long that the machine must be to blame."""
        if len(unplayed) < planned:
            self.attempts.clear()
            return
        self.attempts |= unplayed.keys()
        if len(self.attempts) >= MOST_IN_A_ROW and len({bug for bug, _ in self.attempts}) >= LEAST_BUGS:
            raise TrainingError(
                f"{count(len(self.attempts), 'attempt')} in a row could not be played: {next(iter(unplayed.values()))}",
                "Mend this; the same command then resumes, and plays the attempts of this step again.",
            )
