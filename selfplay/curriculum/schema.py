"""The tables of a pool, and the migration of a pool from an earlier version.

`PRAGMA user_version` holds the version. Rows that hold JSON keep fields that this version does not know.
"""

import sqlite3

from selfplay.artifact.decoding import parse_json
from selfplay.curriculum.records import CurriculumError

VERSION = 4
MIGRATED = (2, 3)
"""Earlier versions with the same tables, but fewer tables or indexes."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS run (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS repositories (
    name TEXT PRIMARY KEY,      -- the source, as the user gave it
    facts TEXT NOT NULL         -- JSON: revision, tree hash, language, ...
);
CREATE TABLE IF NOT EXISTS episodes (          -- an injector's, finished and checked
    repository TEXT NOT NULL,
    number INTEGER NOT NULL,
    strategy TEXT NOT NULL,
    status TEXT NOT NULL,       -- valid, invalid, duplicate, gave_up, failed, unplayed
    reason TEXT NOT NULL,
    failed_check TEXT,
    tree_key TEXT,              -- equal for equal buggy trees of one repository
    bug TEXT,                   -- bug.json of a valid one
    figures TEXT NOT NULL,      -- JSON, see `EpisodeFigures`
    grp TEXT NOT NULL DEFAULT '',
    policy TEXT NOT NULL DEFAULT '',
    version_first INTEGER NOT NULL DEFAULT 0,  -- of the policy's weights
    version_last INTEGER NOT NULL DEFAULT 0,
    trajectory TEXT NOT NULL DEFAULT '',       -- its file in trajectories/
    taken INTEGER NOT NULL DEFAULT 0,          -- its place among those taken, from 1; 0 before
    PRIMARY KEY (repository, number)
);
CREATE INDEX IF NOT EXISTS taken_episodes ON episodes (taken);
CREATE TABLE IF NOT EXISTS bugs (
    place INTEGER PRIMARY KEY AUTOINCREMENT,   -- the order in which they came into the pool
    id TEXT NOT NULL UNIQUE,
    repository TEXT NOT NULL,
    episode INTEGER NOT NULL,
    tree_key TEXT NOT NULL,
    UNIQUE (repository, episode),
    UNIQUE (repository, tree_key)
);
CREATE TABLE IF NOT EXISTS imported (          -- tasks that no episode of ours made
    id TEXT PRIMARY KEY,
    bug TEXT NOT NULL           -- its bug.json
);
CREATE TABLE IF NOT EXISTS attempts (
    bug TEXT NOT NULL,
    policy TEXT NOT NULL,
    number INTEGER NOT NULL,
    resolved INTEGER NOT NULL,
    reason TEXT NOT NULL,       -- of the grade: resolved, failing-tests, empty, a layer's name, ...
    detail TEXT NOT NULL,
    figures TEXT NOT NULL,      -- JSON, see `AttemptFigures`
    version_first INTEGER NOT NULL DEFAULT 0,
    version_last INTEGER NOT NULL DEFAULT 0,
    trajectory TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (bug, policy, number)
);
CREATE TABLE IF NOT EXISTS audits (
    bug TEXT PRIMARY KEY,
    clean INTEGER NOT NULL,
    findings TEXT NOT NULL      -- JSON: the whole audit; of earlier versions its findings alone
);
CREATE TABLE IF NOT EXISTS promotions (
    parent TEXT NOT NULL,
    policy TEXT NOT NULL,
    number INTEGER NOT NULL,
    status TEXT NOT NULL,       -- promoted, or why not
    tree_hash TEXT,             -- of the world a solver would see; UNIQUE lets a tree be promoted once
    bug TEXT,                   -- bug.json of a promoted one
    PRIMARY KEY (parent, policy, number)
);
CREATE UNIQUE INDEX IF NOT EXISTS promoted_trees ON promotions (tree_hash) WHERE bug IS NOT NULL;
CREATE TABLE IF NOT EXISTS costs (             -- of all the times the run went on, together
    phase TEXT PRIMARY KEY,
    wall_seconds REAL NOT NULL,
    core_seconds REAL NOT NULL
);
"""


def prepare_schema(database: sqlite3.Connection, path: object) -> None:
    """Make the tables, or migrate those of an earlier version.

    Raises `CurriculumError` for a later version."""
    found = int(database.execute("PRAGMA user_version").fetchone()[0])
    if found > VERSION:
        raise CurriculumError(
            f"{path} was made by a later version of selfplay (pool version {found}, this one knows {VERSION})",
            "Upgrade selfplay.",
        )
    known = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'episodes'").fetchone()
    old = known and found not in MIGRATED
    if found == VERSION:
        return
    with database:
        database.execute("BEGIN")
        if old:
            _from_first(database)
        for statement in SCHEMA.split(";\n"):
            database.execute(statement)
        if old:
            _copy_first(database)
        database.execute(f"PRAGMA user_version = {VERSION}")


def _from_first(database: sqlite3.Connection) -> None:
    """Rename the tables of version 1 (one repository, no versions)."""
    for table in ("episodes", "bugs", "attempts"):
        database.execute(f"CREATE TABLE IF NOT EXISTS {table} (number INTEGER)")  # an older pool may lack one
        database.execute(f"ALTER TABLE {table} RENAME TO {table}_1")


def _copy_first(database: sqlite3.Connection) -> None:
    row = database.execute("SELECT value FROM run WHERE key = 'source'").fetchone()
    source = str(parse_json(str(row[0]).encode(), "the source of this pool")) if row else ""
    database.execute("INSERT OR IGNORE INTO repositories VALUES (?, '{}')", (source,))
    same = "number, strategy, status, reason, failed_check, tree_key, bug, figures"
    database.execute(
        f"INSERT INTO episodes (repository, trajectory, taken, {same})"
        f" SELECT ?, printf('%06d-injector.jsonl.zst', number), taken * (number + 1), {same}"
        " FROM episodes_1 ORDER BY number",
        (source,),
    )
    database.execute(
        "INSERT INTO bugs (id, repository, episode, tree_key)"
        " SELECT id, ?, episode, tree_key FROM bugs_1 ORDER BY episode",
        (source,),
    )
    if len(database.execute("PRAGMA table_info(attempts_1)").fetchall()) > 1:
        same = "bug, policy, number, resolved, reason, detail, figures"
        database.execute(f"INSERT INTO attempts ({same}) SELECT {same} FROM attempts_1")
    for table in ("episodes", "bugs", "attempts"):
        database.execute(f"DROP TABLE {table}_1")
