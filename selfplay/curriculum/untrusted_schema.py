"""Is a database's schema one that we make? A stranger's schema is code: SQLite runs its expressions."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from selfplay.curriculum.database_errors import DamagedDatabase
from selfplay.curriculum.records import CurriculumError
from selfplay.curriculum.schema import MIGRATED, SCHEMA, VERSION


def refuse_strange_schema(database: sqlite3.Connection, path: Path) -> None:
    """Raises `CurriculumError` for a schema with anything but a pool's tables; a later version is left to
    `prepare_schema`, which refuses it."""
    version = int(database.execute("PRAGMA user_version").fetchone()[0])
    rows = database.execute("SELECT type, name, sql FROM sqlite_master").fetchmany(101)
    if version > VERSION or (version == 0 and not rows):
        return
    tables, indexes = _ours()
    for kind, name, sql in rows:
        made = _plain(str(sql))
        if kind == "table":
            ours = made == COUNTERS or (name in tables and _ordinary(database, name, made, version))
        else:
            implied = sql is None and str(name).startswith("sqlite_autoindex_")
            ours = kind == "index" and (implied or indexes.get(name) == made)
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


def refuse_damage(database: sqlite3.Connection) -> None:
    """Raises `DamagedDatabase` for a database that is not whole: where rows share their pages, a small file holds any
    number of large ones; where an index holds other values than its table, the invariants may be asked of the one, and
    what is used comes from the other. Its schema must be ours, since the check runs expressions of it."""
    damage = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if damage != "ok":
        raise DamagedDatabase(damage)


def refuse_other_tables(database: sqlite3.Connection, path: Path, schema: str) -> None:
    """Raises `CurriculumError` for anything that `schema` does not make, word for word, and for too many rows."""
    with _empty(schema) as empty:
        ours = {(kind, name): _plain(sql) for kind, name, sql in empty.execute(MADE)}
    made = database.execute(MADE).fetchmany(len(ours) + 1)
    for kind, name, sql in made:
        if ours.get((kind, name)) != _plain(str(sql)):
            raise CurriculumError(f"{path} holds a {str(kind)[:20]} {str(name)[:60]!r} that selfplay did not make", NOT)
    refuse_damage(database)
    for _, name, _ in made:
        if database.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] > MOST_ROWS:
            raise CurriculumError(f"{path} has more than {MOST_ROWS} rows in {name}", NOT)
        _refuse_other_types(database, path, str(name))


def _refuse_other_types(database: sqlite3.Connection, path: Path, table: str) -> None:
    """Raises `CurriculumError` for a value of another type than its column's: SQLite stores any in any."""
    for column, declared in database.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall():
        kinds = {"INTEGER": "'integer'", "REAL": "'real', 'integer'"}.get(declared, "'text'")
        wrong = f'SELECT 1 FROM "{table}" WHERE typeof("{column}") NOT IN ({kinds}, \'null\') LIMIT 1'
        if database.execute(wrong).fetchone():
            raise CurriculumError(f"{path} has a value in {table}.{column} that is no {declared.lower()}", NOT)


MOST_ROWS = 100_000
"""Of a table with one row a step."""
NOT = "It was changed after selfplay wrote it: its bugs/ can still be validated one by one."
_LISTS = ("key(", "unique(", "referencesepisodes(")
"""The words allowed before a bracket inside a table definition: a list of columns. Others would be expressions."""


def _ordinary(database: sqlite3.Connection, name: str, text: str, version: int) -> bool:
    """Whether a table is ordinary: no expression, no hidden or generated column, no unknown column, and columns of
    its own types and keys: without them SQLite would look through whole tables for each row of another. `text`: its
    plain statement."""
    inner = text.partition("(")[2]
    for listed in _LISTS:
        inner = inner.replace(listed, "")
    if not text.startswith("createtable") or "(" in inner:
        return False
    columns = database.execute("SELECT name, hidden, type, pk FROM pragma_table_xinfo(?)", (name,)).fetchall()
    typed = [(str(column), kind, key) for column, _, kind, key in columns]
    if version in (*MIGRATED, VERSION) and (typed != _columns()[name] or _unique(database, name) != _uniques()[name]):
        return False
    if any(word in text for word in ("onconflict", "collate")):  # what is stored would be dropped, or be another's
        return False
    known = {*_ours()[0][name], *({"state"} if name == "bugs" else ())}  # in the first version
    return {str(column) for column, *_ in columns} <= known and not any(hidden for _, hidden, *_ in columns)


@cache
def _columns() -> dict[str, list[tuple[str, str, int]]]:
    """Table -> its columns in their order, by which some rows are written: name, type, place in the primary key."""
    with _empty(SCHEMA) as empty:
        rows = "SELECT name, type, pk FROM pragma_table_info(?)"
        return {name: [(str(n), kind, key) for n, kind, key in empty.execute(rows, (name,))] for name in _ours()[0]}


@cache
def _uniques() -> dict[str, set[tuple[str, ...]]]:
    with _empty(SCHEMA) as empty:
        return {name: _unique(empty, name) for name in _ours()[0]}


def _unique(database: sqlite3.Connection, table: str) -> set[tuple[str, ...]]:
    """The lists of columns that a table's own statement makes unique: with one more, rows of the user's would be left
    out without a word."""
    made = "SELECT name FROM pragma_index_list(?) WHERE origin <> 'c'"
    columns = "SELECT name FROM pragma_index_info(?)"
    names = [name for (name,) in database.execute(made, (table,))]
    return {tuple(str(column) for (column,) in database.execute(columns, (name,))) for name in names}


_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*+(?:'|\Z)|"[^"]*(?:"|\Z)|`[^`]*(?:`|\Z)|\[[^\]]*(?:\]|\Z)""", re.DOTALL
)
"""A comment or something in quotes, whichever begins first, as SQLite reads it."""
_WORD = re.compile(r"'[a-z]*'")
COUNTERS = "createtablesqlite_sequence(name,seq)"
"""SQLite's own table, which counts rows. Its name alone says nothing: its columns could be expressions."""
QUOTED = "('"
"""A text of ours: empty, or a word. What stands for every other text, and for a name in quotes."""


def _plain(sql: str) -> str:
    """A statement without comments, case and spaces. Nothing of ours is quoted but words: in quotes,
    `--` is no comment, and what follows it would not be looked at."""
    return re.sub(r"\s+", "", _TOKEN.sub(_unquoted, sql).lower())


def _unquoted(token: re.Match[str]) -> str:
    found = token[0]
    return " " if found.startswith("--") else found if _WORD.fullmatch(found) else QUOTED


def our_tables() -> dict[str, dict[str, tuple[str, bool]]]:
    """The tables of a pool: column -> (type, whether it may be empty)."""
    return _ours()[0]


@cache
def _ours() -> tuple[dict[str, dict[str, tuple[str, bool]]], dict[str, str]]:
    """What `SCHEMA` makes. Tables: column -> (type, whether it may be empty); indexes: their plain statements."""
    with _empty(SCHEMA) as empty:
        made = empty.execute(MADE).fetchall()
        tables = {
            table: {
                name: (kind, not strict and not key)
                for _, name, kind, strict, _, key in empty.execute(f"PRAGMA table_info({table})")
            }
            for form, table, _ in made
            if form == "table" and table != "sqlite_sequence"
        }
    return tables, {name: _plain(sql) for form, name, sql in made if form == "index"}


MADE = "SELECT type, name, sql FROM sqlite_master WHERE sql NOT NULL"


@contextmanager
def _empty(schema: str) -> Iterator[sqlite3.Connection]:
    """A database in memory that has nothing but this schema."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(schema)
        yield empty
