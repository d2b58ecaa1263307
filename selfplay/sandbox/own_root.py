"""The launcher's own root: the system part at its usual paths, the host at HOST. Part of the launcher, which sends it
along."""

import os
from pathlib import Path
from typing import Any

from selfplay.sandbox.mounting import (
    MS_NODEV,
    MS_NOSUID,
    MS_REC,
    bind,
    call,
    mount,
    pivot,
    user_namespace,
)
from selfplay.sandbox.preparing import CLONE_NEWNS, HOST, SHELF

FIXED = "/fixed"
"""Where what has no usual path lies: bwrap and interpreters of its own."""
MS_SLAVE = 0x80000


def move_into_own_root(system: dict[str, Any]) -> None:
    """Assemble the system part on a tmpfs, as `system` describes it, and make it this process's root."""
    if os.geteuid() == 0:
        call("unshare", CLONE_NEWNS)
        mount("none", "/", "", MS_SLAVE | MS_REC)
    else:
        user_namespace(CLONE_NEWNS)
    root = "/tmp"  # hidden in this namespace only; the host's stays visible under HOST
    copies = {place: Path(source).read_bytes() for place, source in system["copies"].items()}
    opened = {place: os.open(source, os.O_PATH | os.O_CLOEXEC) for place, source in system["binds"].items()}
    mount("sandboxes", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    for place in (HOST, SHELF, "/tmp", *system["folders"]):  # bwrap builds its new root on /tmp
        Path(root + place).mkdir(parents=True, exist_ok=True)
    for place, descriptor in opened.items():
        bind(f"/proc/self/fd/{descriptor}", root + place)
        os.close(descriptor)
    for place, data in (copies | {place: text.encode() for place, text in system["files"].items()}).items():
        Path(root + place).parent.mkdir(parents=True, exist_ok=True)
        Path(root + place).write_bytes(data)
    for place, target in system["links"].items():
        Path(root + place).symlink_to(target)
    pivot(root, root + HOST)
    os.chdir("/")
