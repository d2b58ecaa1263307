"""Checks what this shell allows a process to open and start against what sandboxes need.

A sandbox that runs out of descriptors fails with an arbitrary error; checked beforehand, the limit itself can be named.
"""

import resource
from dataclasses import dataclass

from selfplay.sandbox.protocol import IsolationUnavailable, Limits


@dataclass(frozen=True)
class Ceiling:
    """A limit of the shell: the least that sandboxes need, and what raises it."""

    what: int
    of: str
    flag: str
    least: int
    asked: int
    option: str


CEILINGS = (
    Ceiling(resource.RLIMIT_NOFILE, "open files", "-n", 256, 1024, "nofile"),
    # a sandbox's own process limit cannot exceed this, and our processes count too
    Ceiling(resource.RLIMIT_NPROC, "processes", "-u", Limits().processes + 64, 4096, "nproc"),
)


def check_ceilings() -> None:
    """Raises `IsolationUnavailable` naming the first limit that is too low, and the command that raises it."""
    for ceiling in CEILINGS:
        allowed, _ = resource.getrlimit(ceiling.what)
        if allowed != resource.RLIM_INFINITY and allowed < ceiling.least:
            raise IsolationUnavailable(
                f"this shell allows {allowed} {ceiling.of} (ulimit {ceiling.flag}), and sandboxes need {ceiling.least}",
                f"Raise it in the same shell: `ulimit {ceiling.flag} {ceiling.asked}`. Where that is refused, as root: "
                f"`prlimit --pid $$ --{ceiling.option}={ceiling.asked}`.",
            )
