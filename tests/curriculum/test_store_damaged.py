"""Pools that are damaged, in the place of something else, or on a full disk: each is named, and loses nothing."""

import os
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from curriculum.stored_results import result

from selfplay.artifact import load_bug
from selfplay.curriculum import Attempt, CurriculumError, open_curriculum, open_existing, read_pool


@pytest.mark.parametrize("name", ["bugs", "original", "original-2", "staging", "trajectories"])
def test_a_folder_that_is_no_run_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name / "mine").mkdir(parents=True)
    with (
        pytest.raises(CurriculumError, match=f"holds {name}/ but no curriculum.sqlite: it is not a run's folder"),
        open_curriculum(tmp_path),
    ):
        pass
    assert (tmp_path / name / "mine").is_dir()


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "curriculum.sqlite").write_bytes(b"not a database at all, but long enough for one" * 30)
    with (
        pytest.raises(CurriculumError, match=r"curriculum.sqlite is not a curriculum: file is not a database"),
        open_curriculum(tmp_path),
    ):
        pass


def test_a_database_damaged_in_its_middle_is_named_and_its_bugs_stay(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        for number in range(12):
            pool.episodes.store(result(number))
        pool.episodes.take(12)
    data = bytearray((tmp_path / "curriculum.sqlite").read_bytes())
    data[4096 * 2 :] = os.urandom(len(data) - 4096 * 2)
    (tmp_path / "curriculum.sqlite").write_bytes(data)
    with pytest.raises(CurriculumError, match=r"curriculum\.sqlite"), open_curriculum(tmp_path) as pool:
        pool.bugs()
    assert len(list((tmp_path / "bugs").iterdir())) == 12


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CurriculumError, match="file cannot be used: File exists"), open_curriculum(tmp_path / "file"):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk takes root")
def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", tmp_path], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("this machine does not let root mount")
    try:
        stored = 0
        with pytest.raises(CurriculumError, match=r"(?i)full|no space left"), open_curriculum(tmp_path) as pool:
            for number in range(1000):
                pool.episodes.store(result(number))
                pool.episodes.take(1000)
                stored = pool.episodes.count()
        assert stored >= 1
        for path in (tmp_path / "bugs").iterdir():
            assert load_bug(path).id == path.name
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE episodes SET figures = '{\"files\": null}'", "a row of the pool is damaged: files"),
        ("UPDATE run SET value = '{'", "a setting of .* is damaged"),
    ],
)
def test_a_damaged_row_is_named(tmp_path: Path, damage: str, said: str) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.settle({"seed": 0})
        pool.episodes.store(result(0))
        pool.episodes.take(1)
    with sqlite3.connect(tmp_path / "curriculum.sqlite") as database:
        database.execute(damage)
    database.close()
    with pytest.raises(CurriculumError, match=said), open_curriculum(tmp_path) as pool:
        pool.settings()
        pool.episodes.records()


def test_rows_that_share_their_pages_are_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 33 MB held 300 rows of 30 MB, and took half a minute. Here the second row's text is the first's."""
    with open_curriculum(tmp_path):
        pass
    file = tmp_path / "curriculum.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.execute("INSERT INTO run VALUES ('one', ?)", ("a" * 20_000,))
        database.execute("INSERT INTO run VALUES ('two', ?)", ("b" * 20_000,))
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(file.read_bytes())
    first, second = data.index(b"one" + b"a" * 50), data.index(b"two" + b"b" * 50)
    kept = next(at for at in range(first + 3, len(data)) if data[at] != ord("a")) - first  # then the next page's number
    data[second + kept : second + kept + 4] = data[first + kept : first + kept + 4]
    file.write_bytes(data)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # of a user who did not make the run
    for opened in (read_pool, open_existing):
        with pytest.raises(CurriculumError, match=r"is damaged: [^!]*2nd reference to page"), opened(tmp_path):
            pass


def unlike_its_indexes(path: Path, table: str, statement: str) -> None:
    """Make a statement that the indexes of a table do not follow: SQLite is told meanwhile that it has none."""
    kept = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE tbl_name = ?"
    database = sqlite3.connect(path, isolation_level=None)
    rows = database.execute(kept, (table,)).fetchall()
    (sql,) = (row[4] for row in rows if row[0] == "table")
    bare = re.sub(r"--[^\n]*|,\s*(UNIQUE|PRIMARY KEY) \([^)]*\)| UNIQUE", "", sql).replace("TEXT PRIMARY KEY", "TEXT")
    for made, done in ((bare, statement), (sql, "")):
        version = database.execute("PRAGMA schema_version").fetchone()[0]
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND name = ?", (made, table))
        if done:
            database.execute("DELETE FROM sqlite_master WHERE type = 'index' AND tbl_name = ?", (table,))
        else:
            for row in rows:
                if row[0] == "index":
                    database.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
        database.execute(f"PRAGMA schema_version = {version + 1}")
        database.close()
        database = sqlite3.connect(path, isolation_level=None)
        if done:
            database.execute(done)
    database.close()


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("bugs", "UPDATE bugs SET id = '../../elsewhere'"),
        ("attempts", "UPDATE attempts SET bug = '/etc', number = 'x'"),
        ("bugs", "UPDATE bugs SET repository = '../elsewhere'"),
        ("run", "UPDATE run SET key = 'policy'"),
    ],
)
def test_a_table_that_its_index_does_not_follow_is_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, statement: str
) -> None:
    """The invariants would be asked of the index alone, and what is used comes from the table."""
    with open_curriculum(tmp_path / "run") as pool:
        pool.settle({"seed": 0})
        pool.episodes.store(result(0))
        pool.episodes.take(1)
        pool.attempts.add(Attempt("b.0", "model", 0, False, "", "", ""))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # of a user who did not make the run
    unlike_its_indexes(tmp_path / "run" / "curriculum.sqlite", table, statement)
    for opened in (read_pool, open_curriculum):
        with pytest.raises(CurriculumError, match="damaged"), opened(tmp_path / "run"):
            pytest.fail("it was opened")


def test_a_table_with_its_columns_in_another_order_is_refused(tmp_path: Path) -> None:
    """Some rows are written by position: a bug's name stood where findings are, and nothing opened the run again."""
    with open_curriculum(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "curriculum.sqlite")) as database:
        columns = [row[1:] for row in database.execute("PRAGMA table_info(audits)")]
        made = [
            f"{name} {kind}{' NOT NULL' if full else ''}{' PRIMARY KEY' if key else ''}"
            for name, kind, full, _, key in columns
        ]
        database.execute("DROP TABLE audits")
        database.execute(f"CREATE TABLE audits ({', '.join(reversed(made))})")
        database.commit()
    with pytest.raises(CurriculumError, match="a table 'audits' that no pool"), open_curriculum(tmp_path):
        pytest.fail("it was opened")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("PRIMARY KEY (bug, policy, number)", "PRIMARY KEY (bug, policy, number), UNIQUE (policy)"),
        ("PRIMARY KEY (bug, policy, number)", "PRIMARY KEY (bug, policy, number) ON CONFLICT REPLACE"),
        ("policy TEXT NOT NULL", "policy TEXT NOT NULL COLLATE NOCASE"),
    ],
)
def test_a_table_that_would_drop_rows_is_refused(tmp_path: Path, old: str, new: str) -> None:
    """With one more UNIQUE five of a user's six attempts at a shared bug were left out, without a word."""
    with open_curriculum(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "curriculum.sqlite")) as database:
        (sql,) = database.execute("SELECT sql FROM sqlite_master WHERE name = 'attempts'").fetchone()
        assert old in sql
        database.execute("DROP TABLE attempts")
        database.execute(sql.replace(old, new))
        database.commit()
    for opened in (read_pool, open_curriculum):
        with pytest.raises(CurriculumError, match="a table 'attempts' that no pool"), opened(tmp_path):
            pytest.fail("it was opened")
