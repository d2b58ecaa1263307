"""An engine's processes end with the process that opened them, also where that is killed: else they would go on, with
the memory that they hold."""

import multiprocessing
from collections.abc import Collection

from selfplay import subprocesses

WAIT = 'read -r _; kill -9 "$@"'
"""Nobody writes, so `read` ends with the process that holds the other end of its pipe."""


class KillWithParent:
    """What ends with us. To be released before the processes end by themselves: their numbers are others' then."""

    def __init__(self, processes: Collection[int]) -> None:
        command = ["sh", "-c", WAIT, "sh", *map(str, processes)]
        self._waiting = subprocesses.start(command, stdin=subprocesses.PIPE, new_session=True)

    def release(self) -> None:
        """Let go of them."""
        self._waiting.kill()
        self._waiting.communicate()


def children() -> frozenset[int]:
    """The processes that multiprocessing started here and that still run."""
    return frozenset(child.pid for child in multiprocessing.active_children() if child.pid is not None)
