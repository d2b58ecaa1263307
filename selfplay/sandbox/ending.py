"""Ends what a command left behind, in the agent's process. Sent along with it: imports nothing that loads slowly."""

import _signal as signal  # type: ignore[import-not-found]  # as in `agent.py`
import posix
import time

DYING_SECONDS = 10.0
"""How long processes that were killed may take to end: less than the supervisor waits for an answer."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.0002, 0.01


class Undying(Exception):
    """Processes that were killed and are still there: the kernel is busy with what they asked for."""


def kill_all() -> float:
    """Kill every other process of the namespace and reap it; returns the cpu seconds they had used. Raises `Undying`
    when they have not ended long after."""
    try:  # noqa: SIM105 - contextlib loads slowly
        posix.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass
    used, pause, latest = 0.0, SHORTEST_PAUSE, time.monotonic() + DYING_SECONDS
    while True:
        try:
            pid, _, usage = posix.wait4(-1, posix.WNOHANG)
        except ChildProcessError:
            return used
        if pid:
            used += usage.ru_utime + usage.ru_stime
        elif time.monotonic() > latest:
            raise Undying
        else:
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
