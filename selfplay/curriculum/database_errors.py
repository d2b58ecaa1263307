"""What an error of SQLite tells about a database: whether it is not ours, damaged, or only on a disk that fails."""

import errno
import os
import sqlite3
from pathlib import Path

from selfplay.formatting import count, shortened

RESUME = "What was stored before is kept: mend it, and the same command resumes."
FREE = "Free some space there. What was stored is kept: the same command resumes."
DISK = "Its disk could not be read or written: look at `dmesg`. What was stored is kept: the same command resumes."
FOREIGN = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_MISMATCH)
"""A statement of ours that is wrong for a database (`SQLITE_ERROR`) proves that its tables are not ours."""
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_TOOBIG)
OF_THE_DISK = (
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM,
)  # fmt: skip
ROOM = 1 << 20
"""Bytes. On a disk with less room SQLite cannot work: a shared memory of 32 KiB that cannot be made is an I/O error."""


class DamagedDatabase(sqlite3.DatabaseError):
    """What SQLite's own check says of a database; it has the code of other damage."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def said(error: sqlite3.Error, path: Path, written: Path | None = None, what: str = "curriculum") -> str:
    """What is wrong with the database at `path`; only what proves it says that the file is another's, or damaged.
    `written`: the folder of what is written, if it is a copy."""
    code, name, folder = _code(error), shortened(path), written or path.parent
    if code in FOREIGN:
        return f"{name} is not a {what}: {error}"
    if code in DAMAGED:
        return f"{name} is damaged: {error}"
    if code in OF_THE_DISK and (left := _left(folder)) < ROOM:
        return f"{name}: {error}; the disk of {shortened(folder)} has {count(left >> 10, 'KiB', 'KiB')} free"
    return f"{name}: {error}"


def hint(error: sqlite3.Error, written: Path, otherwise: str = RESUME) -> str:
    """What to do about it. `written`: the folder of what is written; `otherwise`: the hint for
    errors that have nothing to do with a disk."""
    code = _code(error)
    if code not in OF_THE_DISK:
        return otherwise
    return FREE if code == sqlite3.SQLITE_FULL or _left(written) < ROOM else DISK


def no_space(error: OSError) -> bool:
    """Whether a disk, or the user's share of it, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def _code(error: sqlite3.Error) -> int | None:
    """The primary code. A full disk has no other meaning: row ids that run out are excluded when a pool is opened."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _left(folder: Path) -> int:
    """The free bytes of a folder's disk."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return ROOM
    return disk.f_bavail * disk.f_frsize
