"""Turns errors of the operating system into messages that tell the user what to do. No other module does this.

Rooms raise `SelfplayError` when they know more (what was stored, what resumes); all other errors arrive here unchanged.
"""

import errno
import os
import resource

from selfplay.errors import SelfplayError
from selfplay.formatting import shortened

HINTS = {
    errno.ENOSPC: "Free some space there. What was stored is kept: the same command resumes.",
    errno.EDQUOT: "Free some of your quota. What was stored is kept: the same command resumes.",
    errno.EFBIG: "Raise the limit in the same shell (`ulimit -f unlimited`), or take a disk for larger files.",
    errno.EROFS: "It lies on a file system that is mounted read-only: give another place, or mount it writable.",
    errno.EACCES: "Give a place that you may use, or change its permissions.",
    errno.EPERM: "Give a place that you may use, or change its permissions.",
    errno.ENAMETOOLONG: "Give a shorter path.",
    errno.EISDIR: "A file belongs there, and this is a folder: name a file.",
    errno.ENOTDIR: "A folder belongs there, and a file is in its place: give another path.",
    errno.EEXIST: "A folder belongs there, and a file is in its place: give another path.",
    errno.ENOENT: "Check the path.",
    errno.ELOOP: "Its links lead in a circle: give another path.",
    errno.EIO: "The disk cannot be read or written: look at `dmesg`.",
}
LIMITS = {
    errno.EMFILE: (resource.RLIMIT_NOFILE, "open files", "ulimit -n 4096"),
    errno.EAGAIN: (resource.RLIMIT_NPROC, "processes and threads", "ulimit -u 4096"),
}
NO_THREAD = "can't start new thread"


def explained(error: BaseException) -> SelfplayError | None:
    """The error in words; None for a bug in our own code, which needs its traceback."""
    if isinstance(error, SelfplayError):
        return error
    if isinstance(error, RuntimeError) and NO_THREAD in str(error):
        return too_few(errno.EAGAIN)
    if not isinstance(error, OSError) or error.errno is None:
        return None
    if error.errno in LIMITS:
        return too_few(error.errno)
    what = error.strerror or os.strerror(error.errno)
    where = f"{shortened(os.fsdecode(error.filename))}: " if isinstance(error.filename, str | bytes) else ""
    return SelfplayError(where + what, HINTS.get(error.errno, "`selfplay --verbose ...` tells where it came from."))


def too_few(number: int) -> SelfplayError:
    """The error for a shell limit that the command hit."""
    what, of, command = LIMITS[number]
    most = resource.getrlimit(what)[0]
    allowed = "no more" if most == resource.RLIM_INFINITY else f"at most {most}"
    return SelfplayError(
        f"this shell allows {allowed} {of}, and the command needs more",
        f"Raise the limit in the same shell (`{command}`), or give fewer --workers.",
    )
