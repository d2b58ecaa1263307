"""Who a sandbox is on the host: root steps down to one uid of its own; anybody else stays who they are.

One uid serves all sandboxes. Processes are counted per user *namespace* since Linux 5.14, so sandboxes do not share
their `Limits.processes` (the probe checks it), and pid namespaces keep them from seeing or signalling each other.
"""

import os
import pwd
from dataclasses import dataclass

DEDICATED_ID = 64200
"""Debian policy leaves 60000-64999 to be allocated on demand; nothing else should own files so."""


@dataclass(frozen=True)
class Identity:
    """The host uid and gid that own a sandbox; `drop` when the supervisor is root and must become them first."""

    uid: int
    gid: int
    drop: bool


def identity() -> Identity:
    """The identity for this process's sandboxes: the first unused uid from `DEDICATED_ID` for root, else our own."""
    if os.getuid() != 0 and os.geteuid() != 0:
        return Identity(os.getuid(), os.getgid(), drop=False)
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    uid = next(candidate for candidate in range(DEDICATED_ID, 65000) if candidate not in taken)
    return Identity(uid, uid, drop=True)
