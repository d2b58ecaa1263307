"""The host users that sandboxes run as: unused uids if we are root, otherwise the current user.

As root, files on disk belong to one uid (`identity`), and each live sandbox also has its own uid (`Slots`), which
appears to own those files inside: so no sandbox can use up what the kernel counts per user. If the kernel or a file
system cannot map owners so, and for an ordinary user without an engine, all sandboxes share one uid. Pid namespaces
keep sandboxes from seeing or signalling each other in any case, and since Linux 5.14 processes are counted per user
*namespace* (the probe checks it).
"""

import functools
import heapq
import os
import pwd
import threading
from dataclasses import dataclass

from selfplay.sandbox.errors import IsolationUnavailable

DEDICATED_ID, LAST_ID = 64200, 64999
"""Debian policy leaves 60000-64999 for dynamic allocation; no other files should have such owners."""
FIRST_SLOT, SLOTS, SUPERVISORS = 1879048192, 1024, 262144
"""systemd's table of uids reserves nothing from 1879048192 to 2147483647: this many uids for each of this many
supervisors."""


@dataclass(frozen=True)
class Identity:
    """The host uid and gid that own a sandbox; `drop`: the supervisor is root and must switch to them first."""

    uid: int
    gid: int
    drop: bool


def identity() -> Identity:
    """The identity for this process's sandboxes: the first unused uid from `DEDICATED_ID` for root, else our own.

    Raises `IsolationUnavailable` when no uid is left."""
    if os.getuid() != 0 and os.geteuid() != 0:
        return Identity(os.getuid(), os.getgid(), drop=False)
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    uid = next((candidate for candidate in range(DEDICATED_ID, LAST_ID + 1) if candidate not in taken), None)
    if uid is None:
        raise IsolationUnavailable(
            f"every uid from {DEDICATED_ID} to {LAST_ID} belongs to an account, so none is left for sandboxes",
            "Free one of them, or run as an ordinary user.",
        )
    return Identity(uid, uid, drop=True)


class Slots:
    """The uids of this process's live sandboxes. The range depends on its pid, so that supervisors seldom share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first = FIRST_SLOT + os.getpid() % SUPERVISORS * SLOTS
        taken = {entry.pw_uid for entry in pwd.getpwall()}
        self._free = [uid for uid in range(self._first, self._first + SLOTS) if uid not in taken]

    def take(self) -> int:
        """A uid that no live sandbox has; 0 if all are taken."""
        with self._lock:
            return heapq.heappop(self._free) if self._free else 0

    def give_back(self, uid: int) -> None:
        """Take back the uid of a sandbox that is gone."""
        if uid:
            with self._lock:
                heapq.heappush(self._free, uid)

    def __contains__(self, uid: int) -> bool:
        return self._first <= uid < self._first + SLOTS


@functools.cache
def slots() -> Slots:
    """The slots of this process, for all of its backends."""
    return Slots()
