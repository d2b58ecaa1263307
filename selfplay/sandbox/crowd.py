"""Counts the sockets of a sandbox, in the agent's process. Sent along with it: imports nothing that loads slowly.

A connection that nobody has accepted belongs to no process, whose open files are few, and is charged to no control
group: one process could fill the machine's memory with them, a hundred megabytes a second.
"""

import posix

LOOK_SECONDS = 0.25
MOST_SOCKETS = 2048
"""Of a sandbox, of all families: with what may wait in each (`loopback.TCP_RMEM`), a quarter of a gigabyte."""
COUNTS = "/proc/net/sockstat"
"""Of the reader's network alone. The first line: `sockets: used 3`."""


class Crowded(Exception):
    """More sockets than a sandbox may have."""


def refuse_crowd() -> None:
    """Raises `Crowded`."""
    try:
        descriptor = posix.open(COUNTS, posix.O_RDONLY)
    except FileNotFoundError:  # another kernel than Linux, which has its own memory for them
        return
    try:
        used = posix.read(descriptor, 100).split(None, 3)[2]
    finally:
        posix.close(descriptor)
    if int(used) > MOST_SOCKETS:
        raise Crowded
