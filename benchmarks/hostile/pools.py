"""Hostile databases."""

import json
import os
import shutil
from collections.abc import Iterator

from benchmarks.hostile.changes import database, recorded, written
from benchmarks.hostile.place import ESCAPE, POOL, READING, WRITING, Case, Change, Place
from selfplay.artifact import load


def statements(text: str) -> Change:
    """Statements run on the pool."""

    def change(place: Place) -> None:
        with database(place) as pool:
            pool.executescript(text)

    return change


def rebuilt(table: str, old: str, new: str) -> Change:
    """A table of the pool defined otherwise: the schema is rewritten in place."""

    def change(place: Place) -> None:
        with database(place) as pool:
            pool.execute("PRAGMA writable_schema = ON")
            pool.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?", (old, new, table))

    return change


def many_rows(rows: int, figures: str = "{}") -> Change:
    """Attempts at a bug that there is not."""

    def change(place: Place) -> None:
        with database(place) as pool:
            pool.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
                " INSERT INTO attempts (bug, policy, number, resolved, reason, detail, figures)"
                " SELECT 'b', 'p', i, 0, '', '', ? FROM n",
                (rows, figures),
            )

    return change


def many_large_bugs(place: Place) -> None:
    """Fifteen bugs whose diffs have one line of 7 MB with an emoji in it."""
    long = f"+# \U0001f600{'x' * 7_000_000}\n"
    new = f"diff --git a/z.py b/z.py\nnew file mode 100644\n--- /dev/null\n+++ b/z.py\n@@ -0,0 +1 @@\n{long}"
    first = place.bug
    with database(place) as pool:
        rows = "SELECT * FROM episodes WHERE bug LIKE ?"
        cursor = pool.execute(rows, (f'%"{first.name}"%',))
        names, row = [one[0] for one in cursor.description], cursor.fetchone()
        for number in range(15):
            bug = place.run / "bugs" / f"large-{number}"
            shutil.copytree(first, bug)
            (bug / "bug_inject.diff").write_text((first / "bug_inject.diff").read_text() + new)
            record = json.loads((bug / "bug.json").read_text())
            told = json.dumps({**record, "id": bug.name, "content_hash": load(bug).content_hash()})
            (bug / "bug.json").write_text(told)
            made = {**dict(zip(names, row, strict=True)), "number": 1000 + number, "bug": told, "tree_key": bug.name,
                    "taken": 1000 + number}  # fmt: skip
            marks = ", ".join("?" * len(made))
            pool.execute(f"INSERT INTO episodes ({', '.join(made)}) VALUES ({marks})", tuple(made.values()))
            pool.execute(
                "INSERT INTO bugs (id, repository, episode, tree_key) SELECT ?, repository, number, ? FROM episodes"
                " WHERE number = ?",
                (bug.name, bug.name, 1000 + number),
            )


def corrupted(place: Place) -> None:
    """Pages overwritten with random bytes, all but the first."""
    path = place.run / "curriculum.sqlite"
    data, dice = bytearray(path.read_bytes()), place.random()
    for _ in range(40):
        at = dice.randrange(4096, len(data) - 64)
        data[at : at + 64] = dice.randbytes(64)
    path.write_bytes(data)


def pools() -> Iterator[Case]:
    yield Case("a trigger", statements("CREATE TRIGGER t AFTER INSERT ON attempts BEGIN DELETE FROM bugs; END"), POOL)
    yield Case("a view", statements("CREATE VIEW v AS SELECT * FROM bugs"), POOL)
    yield Case(
        "a view for a table",
        statements("ALTER TABLE audits RENAME TO a; CREATE VIEW audits AS SELECT * FROM a"), POOL,
    )  # fmt: skip
    yield Case("a virtual table", statements("CREATE VIRTUAL TABLE v USING fts5(x)"), POOL)
    yield Case("a generated column", statements("ALTER TABLE bugs ADD COLUMN g AS (length(id))"), POOL)
    yield Case("a check", rebuilt("audits", "clean INTEGER", "clean INTEGER CHECK (hex(randomblob(9)))"), POOL)
    hidden = "clean INTEGER DEFAULT '--' CHECK (hex(randomblob(9)))\n"
    yield Case("a check behind a comment in quotes", rebuilt("audits", "clean INTEGER", hidden), POOL)
    counted = "seq AS (length(hex(zeroblob(30000000))))"
    yield Case("a count that is an expression", rebuilt("sqlite_sequence", "seq)", f"{counted})"), POOL)
    yield Case("no key", rebuilt("costs", "PRIMARY KEY", ""), POOL)
    yield Case("an index on an expression", statements("CREATE INDEX i ON bugs (hex(zeroblob(1000)))"), POOL)
    yield Case("a table of its own", statements("CREATE TABLE mine (x)"), POOL[:2])
    yield Case("no table of ours", statements("DROP TABLE promotions"), POOL[:2])
    yield Case("overwritten pages", corrupted, POOL)
    yield Case("half a database", lambda place: os.truncate(place.run / "curriculum.sqlite", 9000), POOL)
    yield Case("noise for a database", written("curriculum.sqlite", lambda dice: dice.randbytes(50_000), "run"), POOL)
    yield Case("a later version", statements("PRAGMA user_version = 99"), POOL)
    yield Case("a version that lies", statements("PRAGMA user_version = 1"), POOL[:2])
    yield Case("a negative version", statements("PRAGMA user_version = -5"), POOL[:2])
    yield Case("a value of 100 MB", statements("UPDATE episodes SET reason = hex(zeroblob(50000000))"), POOL)
    yield Case("300,000 attempts", many_rows(300_000), POOL)
    full = many_rows(9_900, '{"x":[' + "[]," * 45 + "0]}")
    yield Case("9,900 attempts of a hundred values", full, (), READING)
    yield Case("50 MB of reasons", statements("UPDATE episodes SET reason = hex(zeroblob(5000000))"), (), READING)
    wide = "UPDATE episodes SET reason = hex(zeroblob(%d)) || char(128512) WHERE number = 0"
    yield Case("50 MB of reasons with an emoji", statements(wide % 25_000_000), (*POOL, "dataset"))
    yield Case("fifteen bugs of 7 MB", many_large_bugs, ("show", "dataset"))
    yield from _values()


def _values() -> Iterator[Case]:
    """Values in a schema that is ours."""
    figures = "UPDATE episodes SET figures = '{\"x\":' || replace(hex(zeroblob(%d)), '00', '%s') || '%s}'"
    yield Case("rows of lists", statements(figures % (600_000, "[[],", "0]")), POOL)
    yield Case("deep figures", statements(figures % (50_000, "[", "")), POOL[:1])
    yield Case("a damaged bug", statements("UPDATE episodes SET bug = '{\"id\": 3}' WHERE bug NOT NULL"), POOL)
    yield Case("a bug without a record", statements("UPDATE episodes SET bug = NULL"), POOL)
    yield Case("an unknown status", statements(f"UPDATE episodes SET status = '{ESCAPE}'"), POOL)
    for facts in ("true", '"x"', "[1]", "3"):
        yield Case(f"facts {facts}", statements(f"UPDATE repositories SET facts = '{facts}'"), (*POOL, "dataset"))
    yield Case("a number that is text", statements("UPDATE episodes SET number = 'x' || number"), POOL)
    yield Case("a reason of bytes", statements("UPDATE episodes SET reason = x'ff00'"), POOL)
    yield Case("text that is not UTF-8", statements("UPDATE episodes SET reason = CAST(x'ff00' AS TEXT)"), POOL[:1])
    yield Case("a trajectory elsewhere", statements(
        "UPDATE episodes SET trajectory = '../../outside/secret'"), POOL)  # fmt: skip
    yield Case("an attempt elsewhere", statements(
        "INSERT INTO attempts (bug, policy, number, resolved, reason, detail, figures)"
        " VALUES ('../../outside', 'p', 0, 0, '', '', '{}')"), POOL)  # fmt: skip
    yield Case("costs that are text", statements("INSERT INTO costs VALUES ('x', 'y', 'z')"), POOL)
    yield Case("a seed that is a list", statements("UPDATE run SET value = '[1]' WHERE key = 'seed'"), ("solve",))
    yield Case("a setting that is noise", statements("UPDATE run SET value = '[' WHERE key = 'seed'"), ("solve",))
    yield Case("a setup in the pool", recorded(setup="{program}"), (*WRITING, "validate"), ("show",))
