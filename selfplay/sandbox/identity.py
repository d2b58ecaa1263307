"""The host user that a sandbox runs as: for root an unused uid, otherwise the current user.

One uid serves all sandboxes. Since Linux 5.14 processes are counted per user *namespace*, so sandboxes do not share
their `Limits.processes` (the probe checks it), and pid namespaces keep them from seeing or signalling each other. They
do share other per-user counts (for example inotify instances).
"""

import os
import pwd
from dataclasses import dataclass

from selfplay.sandbox.protocol import IsolationUnavailable

DEDICATED_ID, LAST_ID = 64200, 64999
"""Debian policy leaves 60000-64999 for dynamic allocation; no other files should have such an owner."""


@dataclass(frozen=True)
class Identity:
    """The host uid and gid that own a sandbox; `drop` when the supervisor is root and must become them first."""

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
