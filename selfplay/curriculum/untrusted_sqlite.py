"""Opens an untrusted database so that it is only data.

Its schema must be ours, statement by statement, so it has no triggers, views, virtual tables, generated columns or
checks. SQLite is limited to small statements and rows, and may not follow or make other files. `invariants.py` checks
the values.
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from selfplay.artifact.bug import is_bug_id
from selfplay.artifact.decoding import count_values
from selfplay.artifact.reading import (
    LINKS,
    MIB,
    UntrustedDataError,
    existing_folder,
    listed_below,
    refuse_second_name,
)
from selfplay.artifact.written_folders import refuse_strange_below
from selfplay.curriculum.records import CurriculumError
from selfplay.curriculum.trust import is_own
from selfplay.curriculum.untrusted_schema import our_tables
from selfplay.formatting import count

DATABASE = "curriculum.sqlite"
ORIGINALS = "originals"
"""The folder of the trees of imported tasks, each named by its id."""
OWN_FOLDERS = (
    "bugs", "staging", "original", ORIGINALS, "trajectories", "attempts", "weights", "checkpoints", "tensorboard",
    "refused",
)  # fmt: skip
"""The folders that commands write into and tidy."""
MOST_FILES = 2_000_000
"""The most files and folders of a run. None may be a link, also not in a run of one's own."""
LEDGER = "train.sqlite"
"""The ledger of a training run (`loop/ledger.py`)."""
DATABASES = (DATABASE, LEDGER)
OWN_FILES = (
    *(f"{name}{end}" for name in DATABASES for end in ("", "-wal", "-shm")),
    ".lock",
    "summary.json",
)
SECONDS, OF_STRANGERS = 60.0, 5.0
"""Seconds for checking a whole database, and one that this user did not make; a pool of 64 MiB takes less than one."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 64 * MIB,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 64,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 3,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 8,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 64,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


@dataclass(frozen=True)
class DatabaseBounds:
    """Limits for a pool that this user did not make: bytes of its files, rows of a table, values in its JSON."""

    size: int = 64 * MIB
    rows: int = 10_000
    values: int = 1_000_000


def own_folders(folder: Path) -> list[str]:
    """The names of a run's own folders, including the existing originals of further repositories. Raises
    `UntrustedDataError` for more names than a run has."""
    return [*OWN_FOLDERS, *(name for name in listed_below(folder) if name.startswith("original-"))]


def refuse_strange_files(folder: Path, written: bool) -> None:
    """Raises `CurriculumError` if one of a run's own names is a link, a pipe or anything else that leads out of the
    folder; and, where the run is opened to write (`written`), if anything in it is: commands write into a run's folders
    and tidy them, also in one that somebody shared, but only if nobody else can change it. What only reads opens each
    file by a way of no links. The trees of repositories may hold links: they are written once, and read in a sandbox.

    A rollback journal is never ours (a pool is created complete), and may name files for SQLite to delete."""
    try:
        folders = own_folders(folder)
        for name in folders:
            existing_folder(folder, name)
        for name in OWN_FILES:
            path = folder / name
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise CurriculumError(f"{path} is not a regular file", LINKS)
            if path.exists():
                refuse_second_name(path.lstat(), path)
        if written:
            for name in filter(is_bug_id, listed_below(folder, "attempts")):
                existing_folder(folder, "attempts", name)  # or no attempt at this bug can be stored
            trees = [name for name in folders if name.startswith("original")]
            refuse_strange_below(folder, MOST_FILES, unread=trees, alone=not is_own(folder))
    except UntrustedDataError as error:
        raise CurriculumError(error.message, error.hint) from error
    for name in DATABASES:
        if (folder / f"{name}-journal").exists():
            raise CurriculumError(f"{folder / name}-journal is not one of selfplay's files", "Remove it.")


def harden(database: sqlite3.Connection) -> sqlite3.Connection:
    """Limit a new connection to what our statements need, before anything is read."""
    for limit, most in _LIMITS.items():
        database.setlimit(limit, most)
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA cell_size_check = ON")
    database.execute("PRAGMA mmap_size = 0")
    return database


@contextmanager
def within(database: sqlite3.Connection, seconds: float = SECONDS) -> Iterator[None]:
    """Interrupts statements inside that together take longer, with a `sqlite3.OperationalError`."""
    deadline = time.monotonic() + seconds
    database.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    try:
        yield
    finally:
        database.set_progress_handler(None, 0)


def refuse_too_much(database: sqlite3.Connection, path: Path, most: DatabaseBounds) -> None:
    """Raises `CurriculumError` for a pool of more rows, values or text than `most`."""
    values = text = 0
    for table, columns in our_tables().items():
        rows = int(database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])
        if rows > most.rows:
            raise CurriculumError(
                f"{path} has {count(rows, 'row')} in {table}; a shared run may have {most.rows}", LARGER
            )
        text += _text_memory(database, table, [name for name, (kind, _) in columns.items() if kind == "TEXT"])
        if text > most.size:
            raise CurriculumError(f"the texts of {path} may take more than {most.size} bytes of memory", LARGER)
        texts = [name for name in columns if (table, name) in JSON_COLUMNS]
        for row in database.execute(f"SELECT {', '.join(texts)} FROM {table}") if texts else ():
            values += sum(count_values(text.encode()) for text in row if text)
            if values > most.values:
                raise CurriculumError(f"{path} may hold more than {most.values} values", LARGER)


def _text_memory(database: sqlite3.Connection, table: str, columns: Sequence[str]) -> int:
    """The most bytes that the texts of a table take in Python, where one emoji makes each character four bytes."""
    if not columns:
        return 0
    lengths = (f"LENGTH(CAST({name} AS BLOB)) AS b{at}, LENGTH({name}) AS c{at}" for at, name in enumerate(columns))
    sums = (f"TOTAL(b{at} * CASE WHEN b{at} > c{at} THEN 4 ELSE 1 END)" for at in range(len(columns)))
    # the limit keeps the two queries apart: as one, SQLite holds each text three times
    row = f"SELECT {', '.join(lengths)} FROM {table} LIMIT -1"
    return int(database.execute(f"SELECT {' + '.join(sums)} FROM ({row})").fetchone()[0])


JSON_COLUMNS = {
    ("run", "value"), ("repositories", "facts"), ("episodes", "bug"), ("episodes", "figures"), ("attempts", "figures"),
    ("audits", "findings"), ("promotions", "bug"), ("imported", "bug"),
}  # fmt: skip
LARGER = "SELFPLAY_READ_MIB=1000 allows five times as much (the default is 200, in MiB of memory)."
