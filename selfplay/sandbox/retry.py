"""Does blocking work again when its sandbox was lost, after a pause. A loop over many jobs follows more rules, with the
same pauses and limits (`rollout/retries.py`)."""

import time
from collections.abc import Callable
from typing import TypeVar

from selfplay.errors import SelfplayError
from selfplay.formatting import count
from selfplay.sandbox.errors import RESUMES, Cause, SandboxLost

T = TypeVar("T")
LOST_SANDBOXES = 8
"""Losses in a row that end the work, or the loop."""
LIMITS = 2
"""How often a job may hit a limit of its sandbox."""
PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds: the pause after the second loss in a row, doubled each time, and the longest one."""


class StillLost(SelfplayError):
    """The work lost its sandbox each time that it was tried."""


class LimitMet(StillLost):
    """The work met a limit of its sandbox whenever it was tried: its own fault, not the machine's."""


def pause_after(row: int) -> float:
    """Seconds to wait after that many losses in a row."""
    return float(min(LONGEST_PAUSE, PAUSE * 2 ** (row - 2))) if row > 1 else 0.0


def again(work: Callable[[], T], played_again: Callable[[SelfplayError], None] = lambda error: None) -> T:
    """The result of the work, repeated while its sandbox is lost. Blocks, including pauses.

    Raises `StillLost` after `LOST_SANDBOXES` losses, `LimitMet` after `LIMITS` hits of a sandbox limit."""
    limits = 0
    for row in range(1, LOST_SANDBOXES + 1):
        try:
            return work()
        except SandboxLost as lost:
            last = lost
        limits += last.cause is Cause.LIMIT
        if limits >= LIMITS:
            raise LimitMet(f"a sandbox met its limits {count(limits, 'time')}: {last.message}", last.hint) from last
        if row < LOST_SANDBOXES:
            played_again(last)
            time.sleep(pause_after(row))
    raise StillLost(f"{LOST_SANDBOXES} sandboxes in a row failed: {last.message}", last.hint or RESUMES) from last
