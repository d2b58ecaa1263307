"""What fails around a sandbox, one type for each answer to "whose fault is it".

A `SandboxError` says nothing about what ran: there is no sandbox (`MachineError`, `WorldRefused`), or there is none any
more (`SandboxGone`), or it is in use (`SandboxBusy`). The work may be done again. An `InsideError` is no
`SandboxError`: the sandbox lives, and what was asked of it failed through what is in it, and would again. It is a
result, and whoever reads what a stranger left turns it into a verdict. `SandboxError` itself is raised nowhere.
"""

import errno
from enum import StrEnum

from selfplay.errors import SelfplayError

OF_MACHINE = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN,
})  # fmt: skip
"""What an error of the supervisor's own says that this machine lacks."""
RESUMES = "The run can be resumed."
SOME_MEMORY = 64 << 20
"""Bytes that are to be had where memory is left."""
_NOT_ENOUGH = ("start new thread", "start thread", "allocate lock")


class SandboxError(SelfplayError):
    """There is no sandbox, or none any more. Base of what says nothing about what ran in it."""


class MachineError(SandboxError):
    """This machine, or its engine, has not enough of something, or refuses."""


class IsolationUnavailable(MachineError):
    """This machine cannot isolate as promised; the message names the first promise that does not hold."""


class WorldRefused(SandboxError):
    """No sandbox can be as it is described: a folder is missing, a path is impossible, a limit cannot be held."""


class SandboxBusy(SandboxError):
    """Another use comes first: a stream that is still read, another sandbox of the same lease."""


class Cause(StrEnum):
    """Why a sandbox ended before it was closed.

    `LIMIT`: the kernel reports that a limit of this sandbox killed it, or processes of its code could not be killed, so
    the code inside may be the cause. `OUTSIDE`: its host process (the launcher, the engine) went away, or this
    machine was seen to kill programs within their limits. `UNKNOWN`: anything else, such as a signal from outside.
    """

    LIMIT = "limit"
    OUTSIDE = "outside"
    UNKNOWN = "unknown"


class SandboxGone(SandboxError):
    """The sandbox no longer exists, so nothing is known about what ran in it."""


class SandboxClosed(SandboxGone):
    """Its user closed the sandbox, perhaps while a command ran in it."""


class SandboxLost(SandboxGone):
    """A sandbox died, stopped answering, or was lost while it started; nothing is known about what ran in it.

    Only `Cause.LIMIT`, when it repeats in a fresh sandbox, says something about what ran inside. A sandbox closed by
    its user is not lost.
    """

    def __init__(self, message: str, hint: str = "", cause: Cause = Cause.UNKNOWN) -> None:
        super().__init__(message, hint)
        self.cause = cause


class InsideError(SelfplayError):
    """The sandbox lives; what was asked of it failed through what is in it: a full disk, a pipe where a file was, an
    answer that a program of ours cannot have given."""


def as_lost(error: Exception, what: str) -> SandboxError | None:
    """An error of the supervisor's that says nothing about the work that met it: this machine has not enough of
    something, or a disk of it is broken. None for any other. `what`: what failed. A want of memory is the work's own
    doing where this machine has some left: Python raises it for a text nested too deep, too."""
    said = f"{what}: {error or type(error).__name__}"
    if isinstance(error, MemoryError):
        return SandboxLost(said) if _is_short_of_memory() else None
    threads = isinstance(error, RuntimeError) and any(words in str(error) for words in _NOT_ENOUGH)
    if threads or (isinstance(error, OSError) and error.errno in OF_MACHINE):
        return MachineError(said, RESUMES)
    return None


def _is_short_of_memory() -> bool:
    try:
        return not bytearray(SOME_MEMORY)
    except MemoryError:
        return True
