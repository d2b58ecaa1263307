"""The folder of a pool: what it may be, the lock on it, and its removal when a command that made it fails at once."""

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from selfplay.artifact.files import make_folder
from selfplay.artifact.reading import UntrustedDataError, listed_below
from selfplay.curriculum.database_errors import FREE, no_space
from selfplay.curriculum.records import CurriculumError
from selfplay.curriculum.untrusted_sqlite import DATABASE, LEDGER, own_folders, refuse_strange_files
from selfplay.formatting import shortened
from selfplay.owned_folders import FolderOfAnother, missing_folders, refuse_place_of_another

LOCK = ".lock"
FRESH = f".{DATABASE}.new"
"""The name of a pool until it is complete."""
MOST_PATH = 512 - len("-journal") - len(f"/{FRESH}")
"""Bytes of the folder's path: SQLite opens no longer path than 512, that of its journal included."""
PAUSES = (0, 0.05, 0.2, 0.75)
"""Seconds before each try to lock a run: a process that was just killed may hold its lock for a moment."""
HOLDINGS = {DATABASE: ("episodes", "imported", "attempts"), LEDGER: ("steps",)}
"""Database -> its tables with what took work to make; the others hold settings alone."""


@dataclass(frozen=True)
class Advice:
    """What to do about a folder that cannot be used, in the words of the command: only those that make a pool have an
    `--out`."""

    shorter: str
    locked: str
    damaged: str


MAKING = Advice(
    "Give a shorter --out.",
    "Wait for it, stop it, or give another --out.",
    "Give another --out; the bugs beside it stay as they are.",
)
USING = Advice("Move the run to a shorter path.", "Wait for it, or stop it.", "Its bugs/ stay as they are.")


def refuse_long(folder: Path, advice: Advice) -> None:
    """Raises `CurriculumError` for a path that SQLite could not open; its own error would name the disk."""
    path = str(folder.resolve())
    if (length := len(os.fsencode(path))) > MOST_PATH:
        said = f"its path is {length} {'characters' if path.isascii() else 'bytes'} long, {MOST_PATH} at most work"
        raise CurriculumError(f"{shortened(folder)} cannot hold a pool: {said}", advice.shorter)


def require_pool(folder: Path, written: bool = False) -> None:
    """Raises `CurriculumError` for a folder without a pool. `written`: whether it is opened to write."""
    try:
        there = (folder / DATABASE).exists()
    except OSError as error:
        raise CurriculumError(f"{shortened(folder)} cannot be used: {error.strerror}") from error
    if not there:
        raise CurriculumError(f"{folder} has no curriculum", "Name the folder that `selfplay curriculum` filled.")
    refuse_strange_files(folder, written)


def take_folder(folder: Path) -> list[Path]:
    """Make the folder; a new one, and an empty one, is closed to others, since it holds code that may be, and the
    answers. Returns the folders that were missing, the innermost first. Raises `CurriculumError` for one that holds
    anything but a run, or that is another user's."""
    try:
        missing = missing_folders(folder)
        refuse_place_of_another(folder)
        make_folder(folder)
        there = (folder / DATABASE).exists()
        foreign = "" if there else _foreign(folder)
        if (missing or not (there or foreign)) and (mode := folder.stat().st_mode) & 0o077:
            folder.chmod(mode & 0o700)
    except FolderOfAnother as error:
        raise CurriculumError(error.message, error.hint) from error
    except OSError as error:
        todo = FREE if no_space(error) else "Give another --out."
        raise CurriculumError(f"{shortened(folder)} cannot be used: {error.strerror}", todo) from error
    refuse_strange_files(folder, written=True)
    if foreign:
        raise CurriculumError(
            f"{folder} holds {shortened(foreign)} but no {DATABASE}: it is not a run's folder",
            "Give another --out; nothing in it was touched.",
        )
    return missing


def _foreign(folder: Path) -> str:
    """The first name in a folder that nobody has left there who was killed while making a pool; empty without any."""
    with os.scandir(folder) as entries:
        strange = (one for one in entries if one.name != LOCK and not one.name.startswith(FRESH))
        return min((f"{one.name}/" if one.is_dir() else one.name for one in strange), default="")


def locked(folder: Path, advice: Advice) -> int:
    """The descriptor that holds the lock of the folder for this process. Raises `CurriculumError`."""
    for pause in PAUSES:
        time.sleep(pause)
        lock = _opened(folder)
        with contextlib.suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), (folder / LOCK).stat()):  # else `remove_unused` took it away meanwhile
                return lock
        os.close(lock)
    raise CurriculumError(f"another process works on {folder}", advice.locked)


def _opened(folder: Path) -> int:
    try:
        return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        todo = FREE if no_space(error) else "Make it writable, or give another place."
        raise CurriculumError(f"{shortened(folder)} cannot be written to: {error.strerror}", todo) from error


def remove_unused(folder: Path, made: Sequence[Path]) -> None:
    """Remove the pool of a folder, which this process has just made and still locks, unless it holds more than
    settings; then the folders in `made` that are empty."""
    for name in own_folders(folder):
        with contextlib.suppress(OSError):  # not there, or not empty
            (folder / name).rmdir()
    files = [f"{name}{end}" for name in HOLDINGS for end in ("", "-wal", "-shm")]
    try:
        if {*listed_below(folder)} - {LOCK, *files} or _holds(folder):
            return
    except UntrustedDataError:
        return
    for name in (*files, LOCK):
        (folder / name).unlink(missing_ok=True)
    for place in made:
        with contextlib.suppress(OSError):  # another process has put something into it
            place.rmdir()


def _holds(folder: Path) -> bool:
    """Whether a database of the folder holds what took work to make."""
    for name, tables in HOLDINGS.items():
        if (folder / name).exists():
            with contextlib.closing(sqlite3.connect(folder / name)) as database:
                if any(database.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in tables):
                    return True
    return False
