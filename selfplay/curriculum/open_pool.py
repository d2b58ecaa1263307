"""Opens a run's pool: to write, by one process at a time, or to read, which takes no lock and changes nothing."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from selfplay.confinement import scratch
from selfplay.curriculum.database_errors import FREE, hint, no_space, said
from selfplay.curriculum.invariants import refuse_broken, refuse_full
from selfplay.curriculum.pool_folder import (
    FRESH,
    MAKING,
    USING,
    Advice,
    locked,
    refuse_long,
    remove_unused,
    require_pool,
    take_folder,
)
from selfplay.curriculum.records import CurriculumError
from selfplay.curriculum.schema import prepare_schema
from selfplay.curriculum.store import Curriculum
from selfplay.curriculum.trust import is_own, remember_run, times
from selfplay.curriculum.untrusted_schema import refuse_damage, refuse_strange_schema
from selfplay.curriculum.untrusted_sqlite import (
    DATABASE,
    LARGER,
    OF_STRANGERS,
    SECONDS,
    DatabaseBounds,
    harden,
    refuse_too_much,
    within,
)
from selfplay.sandbox.owners import marked

READS = 20
"""How often to try to copy a database while a process writes to it."""


@contextmanager
def open_curriculum(folder: Path) -> Iterator[Curriculum]:
    """The pool of `folder`, created if absent, and locked by this process until the context ends. What was created goes
    again if the context ends with an error before anything is stored.

    Raises `CurriculumError` when another process holds the lock or the database is damaged.
    """
    refuse_long(folder, MAKING)
    made = take_folder(folder)
    lock = locked(folder, MAKING)
    try:
        fresh = not (folder / DATABASE).exists()
        try:
            with _working(folder, MAKING) as pool:
                yield pool
        except BaseException:
            if fresh:
                with contextlib.suppress(OSError, sqlite3.Error):  # the first error is the one to tell
                    remove_unused(folder, made)
            raise
    finally:
        os.close(lock)


@contextmanager
def open_existing(folder: Path) -> Iterator[Curriculum]:
    """Like `open_curriculum`, for an existing run. Raises `CurriculumError` if there is none."""
    require_pool(folder, written=True)
    refuse_long(folder, USING)
    lock = locked(folder, USING)
    try:
        with _working(folder, USING) as pool:
            yield pool
    finally:
        os.close(lock)


@contextmanager
def _working(folder: Path, advice: Advice) -> Iterator[Curriculum]:
    """The pool of a folder that this process has locked. Errors of its database and of a full disk are told in
    words."""
    database = _opened(folder, advice)
    try:
        curriculum = Curriculum(folder, database)
        curriculum.episodes.clear_staging()
        yield curriculum
    except sqlite3.Error as error:
        path = folder / DATABASE
        raise CurriculumError(said(error, path), hint(error, folder)) from error
    except OSError as error:
        if not no_space(error):
            raise
        raise CurriculumError(f"{error.strerror} while writing {error.filename or folder}", FREE) from error
    finally:
        database.close()


@contextmanager
def read_pool(folder: Path) -> Iterator[Curriculum]:
    """A snapshot of the pool of `folder` for reading, even while another process works on it or on a read-only disk.
    Nothing in the folder changes. Raises `CurriculumError` if there is no pool."""
    require_pool(folder)
    path = folder / DATABASE
    with tempfile.TemporaryDirectory(prefix=marked(), dir=scratch()) as place:
        try:
            _copy(path, Path(place), _most_bytes(folder))
            with contextlib.closing(sqlite3.connect(Path(place, DATABASE))) as database:
                _look_through(database, path, own := is_own(folder), whole=not own)
                yield Curriculum(folder, database)
        except sqlite3.Error as error:
            copy = Path(place)
            raise CurriculumError(said(error, path, copy), hint(error, copy, USING.damaged)) from error


def _look_through(database: sqlite3.Connection, path: Path, own: bool, whole: bool) -> None:
    """Bring the database up to this version, and raise `CurriculumError` for one that is not a pool. `whole`: raise
    `DamagedDatabase` for one that is damaged anywhere."""
    harden(database)
    with within(database, SECONDS if own else OF_STRANGERS):
        refuse_strange_schema(database, path)
        if whole:
            refuse_damage(database)
        prepare_schema(database, path)
        refuse_broken(database, path)
        if not own:
            most, more = DatabaseBounds(), times()
            refuse_too_much(database, path, DatabaseBounds(most.size * more, most.rows * more, most.values * more))


def _copy(path: Path, folder: Path, most: int | None) -> None:
    """Copy the current database, at most `most` bytes, into `folder`. Opening a WAL database in place would make
    files."""
    try:
        path.open("rb").close()
    except OSError as error:  # SQLite would report it as a damaged database
        raise CurriculumError(f"{path} cannot be read: {error.strerror}", "Make it readable.") from error
    log = path.with_name(f"{path.name}-wal")
    for _ in range(READS):
        files = [file for file in (path, log) if file.exists()]
        before = _state(files)
        _refuse_size(path, before, most)
        with contextlib.suppress(FileNotFoundError):  # the writer ended meanwhile and merged its log
            for file in files:
                _copy_file(file, folder)
            if _state(files) == before and log.exists() == (log in files):
                return
        (folder / log.name).unlink(missing_ok=True)
    raise CurriculumError(f"{path} is changing all the time", "Look at it again in a moment.")


def _copy_file(file: Path, folder: Path) -> None:
    try:
        shutil.copyfile(file, folder / file.name)
    except OSError as error:
        if not no_space(error):
            raise
        raise CurriculumError(
            f"{folder.parent} has no space for a copy of {file}", "Free some space there, or name another as $TMPDIR."
        ) from error


def _refuse_size(path: Path, files: Iterable[tuple[int, int]], most: int | None) -> None:
    size = sum(size for size, _ in files)
    if most is not None and size > most:
        raise CurriculumError(f"{path} is {size} bytes; a shared run may have {most}", LARGER)


def _most_bytes(folder: Path) -> int | None:
    """How large the pool of `folder` may be; None for one that this user made."""
    return None if is_own(folder) else DatabaseBounds().size * times()


def _state(files: Iterable[Path]) -> list[tuple[int, int]]:
    return [(status.st_size, status.st_mtime_ns) for status in (file.stat() for file in files)]


def _opened(folder: Path, advice: Advice) -> sqlite3.Connection:
    """The checked database of the folder; a new one is complete before it gets its name."""
    path = folder / DATABASE
    try:
        if not path.exists():
            _create(path)
            remember_run(folder)
        log = path.with_name(f"{path.name}-wal")
        _refuse_size(path, _state([file for file in (path, log) if file.exists()]), _most_bytes(folder))
        database = sqlite3.connect(path)
    except sqlite3.Error as error:
        raise CurriculumError(said(error, path), hint(error, folder, advice.damaged)) from error
    try:
        _look_through(database, path, is_own(folder), whole=True)
        refuse_full(database, path)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
    except CurriculumError:
        database.close()
        raise
    except sqlite3.Error as error:
        database.close()
        raise CurriculumError(said(error, path), hint(error, folder, advice.damaged)) from error
    return database


def _create(path: Path) -> None:
    """Make a new empty pool, under another name, so that no journal ever lies beside a pool."""
    fresh = path.with_name(FRESH)
    for left in path.parent.glob(f"{fresh.name}*"):  # left by a kill; we hold the folder's lock
        left.unlink(missing_ok=True)
    database = sqlite3.connect(fresh)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        prepare_schema(database, path)
    finally:
        database.close()
    fresh.replace(path)
