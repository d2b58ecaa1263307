"""Ends an engine's processes with the process that opened them, even if that is killed: they would keep their
memory."""

import multiprocessing
from collections.abc import Collection

from selfplay import subprocesses

WAIT = 'read -r _; kill -9 "$@"'
"""Nothing is written, so `read` ends when the process at the other end of the pipe ends."""


class KillWithParent:
    """Processes that end with this one. Release it before they end by themselves: their ids may be reused."""

    def __init__(self, processes: Collection[int]) -> None:
        command = ["sh", "-c", WAIT, "sh", *map(str, processes)]
        self._waiting = subprocesses.start(command, stdin=subprocesses.PIPE, new_session=True)

    def release(self) -> None:
        """Stop watching the processes."""
        self._waiting.kill()
        self._waiting.communicate()


def children() -> frozenset[int]:
    """The processes that multiprocessing started here and that still run."""
    return frozenset(child.pid for child in multiprocessing.active_children() if child.pid is not None)
