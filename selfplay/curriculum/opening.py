"""Opens a run's pool: to write, by one process at a time, or to read, which takes no lock and changes nothing."""

import contextlib
import errno
import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from selfplay.curriculum.records import CurriculumError
from selfplay.curriculum.schema import prepare_schema
from selfplay.curriculum.store import Curriculum

DATABASE = "curriculum.sqlite"
RESUME = "What was stored before is kept: mend it, and the same command resumes."
FREE = "Free some space there. What was stored is kept: the same command resumes."
READS = 20
"""How often to try to copy a database while a process writes to it."""
OWN_FOLDERS = ("bugs", "staging", "original", "trajectories", "attempts")


@contextmanager
def open_curriculum(folder: Path) -> Iterator[Curriculum]:
    """The pool of `folder`, created if absent, and locked by this process until the context ends.

    Raises `CurriculumError` when another process holds the lock or the database is damaged.
    """
    _check_free(folder)
    lock = _locked(folder)
    try:
        database = _opened(folder / DATABASE)
        try:
            curriculum = Curriculum(folder, database)
            curriculum.episodes.clear_staging()
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
    """As `open_curriculum`, for an existing run. Raises `CurriculumError` where there is none."""
    _check_there(folder)
    with open_curriculum(folder) as pool:
        yield pool


@contextmanager
def read_pool(folder: Path) -> Iterator[Curriculum]:
    """The pool of `folder` as it is at this moment, to read, also while another process works on it or the disk is
    read-only. Nothing in the folder changes. Raises `CurriculumError` where there is no pool."""
    _check_there(folder)
    database = sqlite3.connect(":memory:")
    try:
        _copy(folder / DATABASE, database)
        prepare_schema(database, folder / DATABASE)
        yield Curriculum(folder, database)
    except sqlite3.Error as error:
        raise CurriculumError(
            f"{folder / DATABASE} is not a curriculum: {error}", "Its bugs/ stay as they are."
        ) from error
    finally:
        database.close()


def _copy(path: Path, target: sqlite3.Connection) -> None:
    """Fill `target` with the current database. Creates no file beside it, as opening a WAL database would."""
    try:
        path.open("rb").close()
    except OSError as error:  # SQLite would report it as a damaged database
        raise CurriculumError(f"{path} cannot be read: {error.strerror}", "Make it readable.") from error
    log = path.with_name(f"{path.name}-wal")
    if not log.exists():  # no process is writing
        _backup(f"{path.resolve().as_uri()}?mode=ro&immutable=1", target)
        return
    try:
        with tempfile.TemporaryDirectory() as folder:
            _backup(_copied(path, log, Path(folder)).as_uri(), target)
    except FileNotFoundError:  # the writer ended meanwhile and merged its log
        _copy(path, target)


def _copied(path: Path, log: Path, folder: Path) -> Path:
    """A copy of the database in `folder`, together with the log: what a writer has committed but not merged yet."""
    for _ in range(READS):
        before = _state([path, log])
        for file in (path, log):
            shutil.copyfile(file, folder / file.name)
        if _state([path, log]) == before:
            return folder / path.name
    raise CurriculumError(f"{path} changes all the time", "Look at it again in a moment.")


def _state(files: Iterable[Path]) -> list[tuple[int, int]]:
    return [(status.st_size, status.st_mtime_ns) for status in (file.stat() for file in files)]


def _backup(uri: str, target: sqlite3.Connection) -> None:
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as source:
        source.backup(target)


def _locked(folder: Path) -> int:
    """The descriptor that holds the lock of the folder for this process."""
    try:
        lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise CurriculumError(
            f"{folder} cannot be written to: {error.strerror}", "Make it writable, or give another place."
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise CurriculumError(
            f"another process works on {folder}", "Wait for it, stop it, or give another --out."
        ) from None
    return lock


def _check_there(folder: Path) -> None:
    if not (folder / DATABASE).is_file():
        raise CurriculumError(f"{folder} holds no curriculum", "Name the folder that `selfplay curriculum` filled.")


def _check_free(folder: Path) -> None:
    """Make the folder. An existing folder that is not a run's is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = [name for name in OWN_FOLDERS if (folder / name).exists()]
        there = (folder / DATABASE).exists()
    except OSError as error:
        raise CurriculumError(f"{folder} cannot be used: {error.strerror}", "Give another --out.") from error
    if taken and not there:
        raise CurriculumError(
            f"{folder} holds {taken[0]}/ but no {DATABASE}: it is not a run's folder",
            "Give another --out; nothing in it was touched.",
        )


def _opened(path: Path) -> sqlite3.Connection:
    try:
        database = sqlite3.connect(path)
    except sqlite3.Error as error:
        raise CurriculumError(f"{path}: {error}", "Give another --out.") from error
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        prepare_schema(database, path)
        damage = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if damage != "ok":
            raise sqlite3.DatabaseError(damage)
    except (sqlite3.Error, CurriculumError) as error:
        database.close()
        if isinstance(error, CurriculumError):
            raise
        if "full" in str(error):
            raise CurriculumError(f"{path}: {error}", FREE) from error
        raise CurriculumError(
            f"{path} is not a curriculum: {error}", "Give another --out; the bugs beside it stay as they are."
        ) from error
    return database
