"""Says of a run that somebody else made how far it is believed."""

from pathlib import Path

from selfplay.curriculum.trust import is_own
from selfplay.formatting import Say


def say_if_shared(run: Path, say: Say) -> None:
    """One line where this user did not make the run: its bugs and attempts count as it says."""
    if not is_own(run):
        say(f"{run} was not made here: its bugs and attempts are as it says; `selfplay validate {run}` checks the bugs")
