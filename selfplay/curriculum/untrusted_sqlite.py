"""Opens an untrusted database so that it is only data.

Its schema must be ours, statement by statement, so it has no triggers, views, virtual tables, generated columns or
checks. SQLite is limited to small statements and rows, and may not follow or make other files. `invariants.py` checks
the values.
"""

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from selfplay.artifact.decoding import count_values
from selfplay.artifact.reading import LINKS, MIB, UntrustedDataError, existing_folder
from selfplay.curriculum.records import CurriculumError
from selfplay.curriculum.schema import MIGRATED, SCHEMA, VERSION
from selfplay.formatting import count

DATABASE = "curriculum.sqlite"
ORIGINALS = "originals"
"""The folder of the trees of imported tasks, each named by its id."""
OWN_FOLDERS = ("bugs", "staging", "original", ORIGINALS, "trajectories", "attempts")
LEDGER = "train.sqlite"
"""The ledger of a training run (`loop/ledger.py`)."""
DATABASES = (DATABASE, LEDGER)
OWN_FILES = (
    *(f"{name}{end}" for name in DATABASES for end in ("", "-wal", "-shm")),
    ".lock",
    "summary.json",
)
SECONDS = 60.0
"""Seconds for checking a whole database; a pool of 64 MiB takes less than one."""
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
    """The names of a run's own folders, including the existing originals of further repositories."""
    return [*OWN_FOLDERS, *sorted(path.name for path in folder.glob("original-*"))]


def refuse_strange_files(folder: Path) -> None:
    """Raises `CurriculumError` if one of a run's own names is a link, a pipe or anything else that leads out of the
    folder. A rollback journal is never ours (a pool is created complete), and may name files for SQLite to delete."""
    try:
        for name in own_folders(folder):
            existing_folder(folder, name)
    except UntrustedDataError as error:
        raise CurriculumError(error.message, error.hint) from error
    for name in OWN_FILES:
        path = folder / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise CurriculumError(f"{path} is not a regular file", LINKS)
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


def refuse_strange_schema(database: sqlite3.Connection, path: Path) -> None:
    """Raises `CurriculumError` for a schema with anything but a pool's tables; a later version is left to
    `prepare_schema`, which refuses it."""
    version = int(database.execute("PRAGMA user_version").fetchone()[0])
    rows = database.execute("SELECT type, name, sql FROM sqlite_master").fetchmany(101)
    if version > VERSION or (version == 0 and not rows):
        return
    tables, indexes = _ours()
    for kind, name, sql in rows:
        if kind == "table":
            ours = name == "sqlite_sequence" or (name in tables and _ordinary(database, name, str(sql)))
        else:
            implied = sql is None and str(name).startswith("sqlite_autoindex_")
            ours = kind == "index" and (implied or indexes.get(name) == _plain(str(sql)))
        if not ours:
            raise CurriculumError(
                f"{path} holds a {str(kind)[:20]} {str(name)[:60]!r} that no pool of selfplay has", NOT
            )
    there = {name for _, name, _ in rows}
    if version not in (0, *MIGRATED, VERSION) or (
        version == 0 and "repositories" in there
    ):  # the first version wrote no version
        raise CurriculumError(f"{path} claims to have version {version}, but its tables differ", NOT)
    if version == VERSION and (missing := sorted({*tables, *indexes} - there)):
        raise CurriculumError(f"{path} has no {missing[0]}", NOT)


NOT = "It was changed after selfplay wrote it: its bugs/ can still be validated one by one."
_LISTS = ("key(", "unique(", "referencesepisodes(")
"""The words allowed before a bracket inside a table definition: a list of columns. Others would be expressions."""


def _ordinary(database: sqlite3.Connection, name: str, sql: str) -> bool:
    """Whether a table is ordinary: no expression, no hidden or generated column, no unknown column."""
    text = _plain(sql)
    inner = text.partition("(")[2]
    for listed in _LISTS:
        inner = inner.replace(listed, "")
    if not text.startswith("createtable") or "(" in inner:
        return False
    columns = database.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (name,)).fetchall()
    known = {*_ours()[0][name], *({"state"} if name == "bugs" else ())}  # in the first version
    return {str(column) for column, _ in columns} <= known and not any(hidden for _, hidden in columns)


def _plain(sql: str) -> str:
    """A statement without comments, case and spaces."""
    return re.sub(r"\s+", "", re.sub(r"--[^\n]*", "", sql).lower())


def our_tables() -> dict[str, dict[str, tuple[str, bool]]]:
    """The tables of a pool: column -> (type, whether it may be empty)."""
    return _ours()[0]


@cache
def _ours() -> tuple[dict[str, dict[str, tuple[str, bool]]], dict[str, str]]:
    """What `SCHEMA` makes. Tables: column -> (type, whether it may be empty); indexes: their plain statements."""
    empty = sqlite3.connect(":memory:")
    empty.executescript(SCHEMA)
    made = empty.execute("SELECT type, name, sql FROM sqlite_master WHERE sql NOT NULL").fetchall()
    tables = {
        table: {
            name: (kind, not strict and not key)
            for _, name, kind, strict, _, key in empty.execute(f"PRAGMA table_info({table})")
        }
        for form, table, _ in made
        if form == "table" and table != "sqlite_sequence"
    }
    empty.close()
    return tables, {name: _plain(sql) for form, name, sql in made if form == "index"}


def refuse_too_much(database: sqlite3.Connection, path: Path, most: DatabaseBounds) -> None:
    """Raises `CurriculumError` for a pool of more rows or values than `most`."""
    values = 0
    for table, columns in our_tables().items():
        rows = int(database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])
        if rows > most.rows:
            raise CurriculumError(
                f"{path} has {count(rows, 'row')} in {table}; a shared run may have {most.rows}", LARGER
            )
        texts = [name for name in columns if (table, name) in JSON_COLUMNS]
        for row in database.execute(f"SELECT {', '.join(texts)} FROM {table}") if texts else ():
            values += sum(count_values(text.encode()) for text in row if text)
            if values > most.values:
                raise CurriculumError(f"{path} may hold more than {most.values} values", LARGER)


JSON_COLUMNS = {
    ("run", "value"), ("repositories", "facts"), ("episodes", "bug"), ("episodes", "figures"), ("attempts", "figures"),
    ("audits", "findings"), ("promotions", "bug"), ("imported", "bug"),
}  # fmt: skip
LARGER = "SELFPLAY_READ_MIB=1000 allows five times as much (the default is 200, in MiB of memory)."
