"""A run's pool, opened for one process: its folder claimed, its database checked, what a kill left cleared away."""

import contextlib
import errno
import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfplay.curriculum.result import CurriculumError
from selfplay.curriculum.store import SCHEMA, Curriculum

DATABASE = "curriculum.sqlite"
RESUME = "What was stored before is kept: mend it, and the same command resumes."
FREE = "Free some space there. What was stored is kept: the same command resumes."
OWN_FOLDERS = ("bugs", "staging", "original", "trajectories", "attempts")


@contextmanager
def open_curriculum(folder: Path) -> Iterator[Curriculum]:
    """The pool of `folder`, made if absent, held by this process until the context ends.

    Raises `CurriculumError` when another process holds it or its database is damaged.
    """
    _check_free(folder)
    lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CurriculumError(
                f"another process works on {folder}", "Wait for it, stop it, or give another --out."
            ) from None
        database = _connect(folder / DATABASE)
        try:
            curriculum = Curriculum(folder, database)
            curriculum.recover()
            yield curriculum
        except sqlite3.Error as error:
            hint = FREE if "full" in str(error) else RESUME
            raise CurriculumError(f"{folder / DATABASE}: {error}", hint) from error
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise CurriculumError(f"{error.strerror} while writing {error.filename or folder}", FREE) from error
        finally:
            database.close()
    finally:
        os.close(lock)


@contextmanager
def open_existing(folder: Path) -> Iterator[Curriculum]:
    """As `open_curriculum`, of a run that is there. Raises `CurriculumError` where none is."""
    if not (folder / DATABASE).is_file():
        raise CurriculumError(f"{folder} holds no curriculum", "Name the folder that `selfplay curriculum` filled.")
    with open_curriculum(folder) as pool:
        yield pool


READS = 20


@contextmanager
def read_pool(folder: Path) -> Iterator[Curriculum]:
    """The pool of a run as it is now, to look at: no lock is taken, nothing in the folder is changed or cleared away,
    and another process may go on working on it.

    It reads a copy of the database and of what is not yet merged into it, made again while either changes. Raises
    `CurriculumError` where there is no run or its database is damaged.
    """
    if not (folder / DATABASE).is_file():
        raise CurriculumError(f"{folder} holds no curriculum", "Name the folder that `selfplay curriculum` filled.")
    with tempfile.TemporaryDirectory(prefix="selfplay-") as copy:
        _copy_database(folder, Path(copy))
        database = _connect(Path(copy) / DATABASE)
        try:
            yield Curriculum(folder, database)
        except sqlite3.Error as error:
            raise CurriculumError(f"{folder / DATABASE}: {error}", RESUME) from error
        finally:
            database.close()


def _copy_database(folder: Path, target: Path) -> None:
    parts = [folder / DATABASE, folder / f"{DATABASE}-wal"]
    for _ in range(READS):
        before = _state(parts)
        for part in parts:
            (target / part.name).unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(part, target / part.name)
        if _state(parts) == before:
            return
    raise CurriculumError(f"{folder / DATABASE} changes all the time", "Look at it again in a moment.")


def _state(parts: list[Path]) -> list[tuple[int, int] | None]:
    found = [part.stat() if part.exists() else None for part in parts]
    return [(one.st_size, one.st_mtime_ns) if one else None for one in found]


def _check_free(folder: Path) -> None:
    """Make the folder. Opening removes what belongs to no row, so a folder that never was a run's is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CurriculumError(f"{folder} cannot be used: {error.strerror}", "Give another --out.") from error
    taken = [name for name in OWN_FOLDERS if (folder / name).exists()]
    if taken and not (folder / DATABASE).exists():
        raise CurriculumError(
            f"{folder} holds {taken[0]}/ but no {DATABASE}: it is not a run's folder",
            "Give another --out; nothing in it was touched.",
        )


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.executescript(SCHEMA)
        damage = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if damage != "ok":
            raise sqlite3.DatabaseError(damage)
    except sqlite3.DatabaseError as error:
        database.close()
        if "full" in str(error):
            raise CurriculumError(f"{path}: {error}", FREE) from error
        raise CurriculumError(
            f"{path} is not a curriculum: {error}", "Give another --out; the bugs beside it stay as they are."
        ) from error
    return database
