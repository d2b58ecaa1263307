"""Checks that this shell lets a process open, start and write as much as sandboxes need.

A sandbox that runs out of descriptors fails with an arbitrary error, and one that may write only small files says that
its disk is full. Checked beforehand, the limit itself can be named.
"""

import os
import resource
from dataclasses import dataclass

from selfplay.sandbox.errors import IsolationUnavailable
from selfplay.sandbox.hibernation import OPEN_FILES
from selfplay.sandbox.kernel_text import kernel_text
from selfplay.sandbox.protocol import Limits

MOST_OWN = 1 << 16
SHARE, LEAST = 4, 1024
FILES = int(kernel_text("/proc/sys/fs/file-max"))
"""Files that all processes of this machine together may have open."""


@dataclass(frozen=True)
class Ceiling:
    """A limit of the shell: the minimum that sandboxes need, and the option that raises it."""

    what: int
    of: str
    flag: str
    least: int
    asked: str
    option: str


CEILINGS = (
    Ceiling(resource.RLIMIT_NOFILE, "open files", "-n", 256, "1024", "nofile"),
    # a sandbox's own process limit cannot exceed this, and our processes count too
    Ceiling(resource.RLIMIT_NPROC, "processes", "-u", Limits().processes + 64, "4096", "nproc"),
    # one file may take a sandbox's whole disk
    Ceiling(resource.RLIMIT_FSIZE, "bytes a file", "-f", Limits().disk_bytes, "unlimited", "fsize"),
)


def check_ceilings() -> None:
    """Raises `IsolationUnavailable`, which names the first limit that is too low and the command that raises it."""
    for ceiling in CEILINGS:
        allowed, _ = resource.getrlimit(ceiling.what)
        if allowed != resource.RLIM_INFINITY and allowed < ceiling.least:
            raise IsolationUnavailable(
                f"this shell allows {allowed} {ceiling.of} (ulimit {ceiling.flag}), but sandboxes need {ceiling.least}",
                f"Raise it in the same shell: `ulimit {ceiling.flag} {ceiling.asked}`. Where that is refused, as root: "
                f"`prlimit --pid $$ --{ceiling.option}={ceiling.asked}`.",
            )


def crashes(pattern: str | None = None) -> str:
    """What a crash in a sandbox does on the host. Of a hard limit of 0, which only root can raise, the kernel says that
    nothing is written; a handler, a program of its root's, is started all the same. `pattern`: the kernel's, if not
    read."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    pattern = kernel_text("/proc/sys/kernel/core_pattern") if pattern is None else pattern
    if os.geteuid() == 0 or hard != 0 or not pattern.startswith("|"):
        return "nothing is written, and no handler of the host's is started"
    return "the host's handler is started: the hard limit of core dumps is 0 (`ulimit -H -c 1`, as root, before)"


def raise_own() -> None:
    """Raise this process's limit of open files to the maximum: the kernel also compares it with the number of
    descriptors that all processes of the user are sending to each other."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_OWN if hard == resource.RLIM_INFINITY else min(hard, MOST_OWN)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def descriptors(uid: int) -> int:
    """Descriptors for a process inside. All processes of a usual sandbox together may have a part of the machine's,
    where that leaves each of them enough. A sandbox with our own uid may have fewer than half of ours, so that those
    it is sending leave room for ours; fewer than half, because the kernel lets one more message through."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    of_machine = FILES // SHARE // Limits().processes
    most = max(min(OPEN_FILES, of_machine), LEAST)
    if uid != os.getuid() or allowed == resource.RLIM_INFINITY:
        return most
    return min(most, allowed * 3 // 8)
