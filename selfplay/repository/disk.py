"""Recognises disk errors (as opposed to errors of a source or the network), names the folder, and says what to do."""

import errno
import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfplay.repository.errors import CacheError

VARIABLE = "SELFPLAY_CACHE"
FULL = (errno.ENOSPC, errno.EDQUOT)
CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)
OF_WRITING = (*FULL, errno.EFBIG, errno.EROFS)
"""Errors that only writing can cause: if a program has one, it concerns the folder that we gave it."""


def cache_error(error: OSError, folder: Path) -> CacheError | None:
    """The user's error for this system error while `folder`, in the cache, was in use; None for other errors."""
    place = Path(os.fsdecode(error.filename2 or error.filename or folder))
    ours = place.is_relative_to(folder) or folder.is_relative_to(place)
    hints = dict.fromkeys(FULL, "Free some space there" + (f", or set {VARIABLE} to another disk." if ours else "."))
    hints |= dict.fromkeys(
        CLOSED, f"Set {VARIABLE} to a folder you can write to." if ours else "You need access to it."
    )
    hints |= {errno.EFBIG: "Raise the limit in the same shell: `ulimit -f unlimited`. Git may write 4 GiB a file."}
    hints |= {errno.ENAMETOOLONG: f"Set {VARIABLE} to a folder with a shorter name." if ours else "Shorten its name."}
    if error.errno not in hints:
        return None
    what = f"the cache folder {folder} cannot be used" if place == folder else f"{str(place)[:300]} cannot be used"
    return CacheError(f"{what}: {error.strerror}", hints[error.errno])


@contextmanager
def named(folder: Path) -> Iterator[None]:
    """Convert disk errors to a `CacheError`; other errors pass unchanged."""
    try:
        yield
    except OSError as error:
        if told := cache_error(error, folder):
            raise told from error
        raise


def raise_mentioned(output: str, folder: Path) -> None:
    """Raises the `OSError` that the output of a program writing to `folder` mentions, if any, and if this shell's limit
    or the disk may have it: in the output of git stand words of a remote, too."""
    limited = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
    for code in OF_WRITING:
        if os.strerror(code) in output and (limited if code == errno.EFBIG else not _has_room(folder)):
            raise OSError(code, os.strerror(code), os.fspath(folder))


def _has_room(folder: Path) -> bool:
    """Whether a file can be written there, and a twentieth of the disk is free."""
    try:
        with tempfile.TemporaryFile(dir=folder) as stream:
            stream.write(bytes(1 << 20))
        status = os.statvfs(folder)
    except OSError:
        return False
    return status.f_bavail * 20 > status.f_blocks and (status.f_favail * 20 > status.f_files or not status.f_files)
