"""The invariants of a pool's values, checked whenever a pool is opened.

An untrusted pool may contain anything that SQLite can store. Code that reads or resumes a run relies only on these
invariants; a broken one is a typed error that names it, before any other statement runs.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

from selfplay.curriculum.lost import PLAYED_AGAIN
from selfplay.curriculum.records import MOST_ADDED_TO, MOST_COUNT, MOST_SECONDS, CurriculumError, Status
from selfplay.curriculum.untrusted_schema import NOT, our_tables

AHEAD = 10_000
"""How far an episode's number may be beyond the count of its repository's episodes: those in between are running, or
were when the run was killed, so there are at most as many as workers. Episodes that are played from outside
(`serve-env`) are numbered by their prompt."""
_BUG = "({0} GLOB '*[^a-z0-9_.-]*' OR {0} GLOB '[_.-]*' OR {0} = '' OR length({0}) > 128)"
_FILE = "({0} GLOB '*[^A-Za-z0-9_.-]*' OR {0} GLOB '[.-]*' OR length({0}) > 250)"
_TRUTH = "({0} NOT IN (0, 1))"
_OF_KIND = {
    "INTEGER": f"({{0}} NOT BETWEEN 0 AND {MOST_COUNT})",
    "REAL": f"({{0}} NOT BETWEEN 0 AND {MOST_SECONDS:.0f}.0)",
    "TEXT": "(instr({0}, char(0)) > 0)",  # GLOB and length() end at it
}
"""A column's type -> a condition that no value may meet. Weight versions, numbers and places are counts."""
_OF_COLUMN = {
    ("bugs", "id"): _BUG, ("imported", "id"): _BUG, ("attempts", "bug"): _BUG, ("audits", "bug"): _BUG,
    ("promotions", "parent"): _BUG,
    ("episodes", "trajectory"): _FILE, ("attempts", "trajectory"): _FILE,
    ("attempts", "resolved"): _TRUTH, ("audits", "clean"): _TRUTH,
    ("repositories", "facts"): "({0} NOT GLOB '{{*}}')",
}  # fmt: skip
"""(table, column) -> a further condition that no value may meet; most of them become parts of paths."""
_SAME = "(e.repository, e.number) = (b.repository, b.episode)"
_STATUSES = ", ".join(f"'{status}'" for status in get_args(Status))
ACROSS: Mapping[str, str] = {
    "an episode has a status that selfplay knows": f"episodes WHERE status NOT IN ({_STATUSES})",
    "the episodes taken have the places 1 to n, each once": (
        "(SELECT COUNT(*) AS n, COUNT(DISTINCT taken) AS places, MAX(taken) AS last FROM episodes WHERE taken > 0)"
        " WHERE n > 0 AND (places <> n OR last <> n)"
    ),
    f"an episode's number is less than {AHEAD} beyond the count of its repository's episodes": (
        f"episodes GROUP BY repository HAVING MAX(number) >= COUNT(*) + {AHEAD}"
        " AND NOT EXISTS (SELECT 1 FROM run WHERE key = 'policy' AND value = '\"outside\"')"
    ),
    "an episode's repository is one of the pool's": (
        "episodes WHERE repository NOT IN (SELECT name FROM repositories)"
    ),
    "a valid episode has a bug and the key of its tree": (
        "episodes WHERE status = 'valid' AND (bug IS NULL OR tree_key IS NULL)"
    ),
    "a bug is that of a valid episode that was taken, and has its tree": (
        f"bugs b LEFT JOIN episodes e ON {_SAME}"
        " WHERE e.number IS NULL OR e.status <> 'valid' OR e.taken = 0 OR e.tree_key <> b.tree_key"
    ),
    "a valid episode that was taken gave a bug": (
        f"episodes e LEFT JOIN bugs b ON {_SAME} WHERE e.status = 'valid' AND e.taken > 0 AND b.id IS NULL"
    ),
    "a bug's place is a count, and so is the last one given": (
        f"sqlite_sequence WHERE name = 'bugs' AND (typeof(seq) <> 'integer' OR seq NOT BETWEEN 0 AND {MOST_COUNT})"
    ),
    "no two episodes or attempts have one trajectory": (
        "(SELECT trajectory FROM episodes WHERE trajectory <> '' UNION ALL"
        " SELECT trajectory FROM attempts WHERE trajectory <> '') GROUP BY trajectory HAVING COUNT(*) > 1"
    ),
    "a promoted bug has the hash of its tree": "promotions WHERE bug IS NOT NULL AND tree_hash IS NULL",
    "the jobs played again are a count": (
        f"run WHERE key = '{PLAYED_AGAIN}' AND (value = '' OR value GLOB '*[^0-9]*' OR length(value) > 9)"
    ),
}
"""An invariant of the whole pool -> what follows `SELECT 1 FROM` to find a violation."""


COUNTED_ON = (
    ("sqlite_sequence", "seq"), ("bugs", "place"), ("attempts", "number"), ("attempts", "version_last"),
    ("episodes", "version_last"),
)  # fmt: skip
"""(table, column) of numbers from which the next one is made."""


def refuse_broken(database: sqlite3.Connection, path: Path) -> None:
    """Raises a `CurriculumError` that names the first broken invariant."""
    for (table, column), wrong in _of_values():
        if database.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone():
            raise CurriculumError(f"{path}: a value in {table}.{column} is not what selfplay writes there", NOT)
    for promise, found in ACROSS.items():
        if database.execute(f"SELECT 1 FROM {found} LIMIT 1").fetchone():
            raise CurriculumError(f"{path}: this does not hold: {promise}", NOT)


def refuse_full(database: sqlite3.Connection, path: Path) -> None:
    """Raises a `CurriculumError` for a pool that is opened to write and whose counts leave no room: the next number
    would be none, and no command could read the pool again."""
    for table, column in COUNTED_ON:
        if database.execute(f"SELECT 1 FROM {table} WHERE {column} > {MOST_ADDED_TO} LIMIT 1").fetchone():
            raise CurriculumError(f"{path}: {table}.{column} is so high that nothing can be added", NOT)


def _of_values() -> Iterator[tuple[tuple[str, str], str]]:
    """(table, column), and the condition for a wrong value: another type or another form than the column's."""
    for table, columns in our_tables().items():
        for column, (kind, nullable) in columns.items():
            kinds = f"'{kind.lower()}'" + (", 'null'" if nullable else "")
            more = _OF_COLUMN.get((table, column), "0")
            wrong = f"typeof({{0}}) NOT IN ({kinds}) OR {_OF_KIND[kind]} OR {more}"
            yield (table, column), wrong.format(column)
