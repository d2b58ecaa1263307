"""Which user of the host a sandbox runs as: under root an unused uid, else the user who runs this.

One uid serves all sandboxes. Processes are counted per user *namespace* since Linux 5.14, so sandboxes do not share
their `Limits.processes` (the probe checks it), and pid namespaces keep them from seeing or signalling each other. Other
counts per user (inotify instances, for one) they do share.
"""

import os
import pwd
from dataclasses import dataclass

from selfplay.sandbox.protocol import IsolationUnavailable

DEDICATED_ID, LAST_ID = 64200, 64999
"""Debian policy leaves 60000-64999 to be allocated on demand; nothing else should own files so."""


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
