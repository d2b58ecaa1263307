"""Reading a pool takes no lock and changes nothing; pools of an earlier version are brought up to this one."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from curriculum.stored_results import result

from selfplay.curriculum import Attempt, CurriculumError, open_curriculum, open_existing, read_pool
from selfplay.curriculum.pool_folder import MOST_PATH
from selfplay.curriculum.schema import MIGRATED, VERSION
from selfplay.sandbox import owners

FIRST_VERSION = """
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE episodes (number INTEGER PRIMARY KEY, strategy TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL,
    failed_check TEXT, tree_key TEXT, bug TEXT, figures TEXT NOT NULL, taken INTEGER NOT NULL DEFAULT 0);
CREATE TABLE bugs (id TEXT PRIMARY KEY, episode INTEGER NOT NULL UNIQUE, state TEXT NOT NULL DEFAULT 'valid',
    tree_key TEXT NOT NULL UNIQUE);
CREATE TABLE attempts (bug TEXT NOT NULL, policy TEXT NOT NULL, number INTEGER NOT NULL, resolved INTEGER NOT NULL,
    reason TEXT NOT NULL, detail TEXT NOT NULL, figures TEXT NOT NULL, PRIMARY KEY (bug, policy, number));
CREATE TABLE audits (bug TEXT PRIMARY KEY, clean INTEGER NOT NULL, findings TEXT NOT NULL);
CREATE TABLE promotions (parent TEXT NOT NULL, policy TEXT NOT NULL, number INTEGER NOT NULL, status TEXT NOT NULL,
    tree_hash TEXT, bug TEXT, PRIMARY KEY (parent, policy, number));
"""
"""The tables as the first version made them."""


def sums(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file below the folder: its digest and when it was changed."""
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_killed_reader_leaves_a_copy_that_the_next_sandbox_backend_removes(tmp_path: Path) -> None:
    run, temporary = tmp_path / "run", tmp_path / "temporary"
    temporary.mkdir()
    with open_curriculum(run):
        pass
    code = "import os; from selfplay.curriculum import *; from pathlib import Path\n"
    code += f"with read_pool(Path({str(run)!r})): os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(temporary)})
    assert done.returncode == -9 and len(list(temporary.iterdir())) == 1
    owners.sweep(temporary)  # as a backend does when it is opened
    assert not list(temporary.iterdir())


def test_reading_changes_nothing_while_another_process_works(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as writer:
        writer.episodes.store(result(0))
        writer.episodes.take(1)
        (tmp_path / "bugs" / "mine").mkdir()
        before = sums(tmp_path)
        code = "from selfplay.curriculum import *; from pathlib import Path\n"
        code += f"with read_pool(Path({str(tmp_path)!r})) as pool: print([bug.id for bug in pool.bugs()])"
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.stdout == "['b.0']\n", done.stderr
        assert sums(tmp_path) == before
        assert (tmp_path / "bugs" / "mine").is_dir()


def test_reading_a_finished_run_makes_no_file(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.episodes.store(result(0))
        pool.episodes.take(1)
    before = sums(tmp_path)
    with read_pool(tmp_path) as pool:
        assert [bug.id for bug in pool.bugs()] == ["b.0"]
    assert sums(tmp_path) == before


def test_what_a_killed_writer_committed_is_read(tmp_path: Path) -> None:
    """Its log is still beside the database, and nobody has taken it in."""
    code = (
        f"import sys, os; sys.path[:0] = {[str(Path(__file__).parent.parent)]!r}\n"
        "from pathlib import Path\nfrom curriculum.stored_results import result\n"
        "from selfplay.curriculum import open_curriculum\n"
        f"with open_curriculum(Path({str(tmp_path)!r})) as pool:\n"
        "    pool.episodes.store(result(0)); pool.episodes.take(1); os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert (tmp_path / "curriculum.sqlite-wal").stat().st_size > 0
    for name in ("curriculum.sqlite-shm",):
        (tmp_path / name).unlink()  # as on a disk where it could not be made
    with read_pool(tmp_path) as pool:
        assert [bug.id for bug in pool.bugs()] == ["b.0"]


def test_a_pool_of_the_first_version_is_read_and_goes_on(tmp_path: Path) -> None:
    bug = result(1).bug
    assert bug is not None
    with sqlite3.connect(tmp_path / "curriculum.sqlite") as old:
        old.executescript(FIRST_VERSION)
        old.execute("INSERT INTO run VALUES ('source', '\"pypi:x\"')")
        rows = [(0, "gave_up", None, None), (1, "valid", "tree 1", bug.model_dump_json()), (2, "invalid", None, None)]
        for number, status, tree, text in rows:
            figures = json.dumps({"seconds": 2.0, "files": ["a.py"], "changed_lines": 3, "finish": "submitted"})
            old.execute(
                "INSERT INTO episodes VALUES (?, 'removal', ?, '', NULL, ?, ?, ?, ?)",
                (number, status, tree, text, figures, int(number < 2)),
            )
        old.execute("INSERT INTO bugs VALUES ('b.1', 1, 'valid', 'tree 1')")
        old.execute("INSERT INTO attempts VALUES ('b.1', 'p', 0, 1, 'resolved', '', '{}')")
    old.close()
    before = sums(tmp_path)
    with read_pool(tmp_path) as pool:
        assert [bug.id for bug in pool.bugs()] == ["b.1"]
    assert sums(tmp_path) == before  # reading brings nothing up to date
    with open_curriculum(tmp_path) as pool:
        first, second = pool.episodes.records("pypi:x")
        assert (first.number, second.number, second.figures.changed_lines) == (0, 1, 3)
        assert second.trajectory == "000001-injector.jsonl.zst"
        assert pool.episodes.fruitless("pypi:x") == 0 and pool.episodes.finished("pypi:x") == {0, 1, 2}
        (attempt,) = pool.attempts.all()
        assert attempt.resolved and attempt.trajectory == "b.1-p-000-solver.jsonl.zst"
        assert pool.episodes.take(9, repository="pypi:x") == [] and pool.episodes.fruitless("pypi:x") == 1
    with open_curriculum(tmp_path) as pool:  # once
        assert len(pool.episodes.records()) == 3


@pytest.mark.parametrize("version", MIGRATED)
def test_a_pool_without_the_newest_index_is_read_and_goes_on(tmp_path: Path, version: int) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.episodes.store(result(0))
        pool.episodes.take(9)
    with closing(sqlite3.connect(tmp_path / "curriculum.sqlite")) as database:
        database.execute("DROP INDEX taken_episodes")
        database.execute(f"PRAGMA user_version = {version}")
        database.commit()
    for opened in (read_pool, open_curriculum, read_pool):
        with opened(tmp_path) as pool:
            assert [bug.id for bug in pool.bugs()] == ["b.0"]
    with closing(sqlite3.connect(tmp_path / "curriculum.sqlite")) as database:
        assert database.execute("SELECT 1 FROM sqlite_master WHERE name = 'taken_episodes'").fetchone()


def test_a_pool_of_a_later_version_is_refused(tmp_path: Path) -> None:
    with open_curriculum(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "curriculum.sqlite") as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    database.close()
    for opening in (open_curriculum, read_pool):
        wanted = rf"(?s)later version.*pool version {VERSION + 1}.*Upgrade"
        with pytest.raises(CurriculumError, match=wanted), opening(tmp_path):
            pass


def test_fields_of_a_later_version_are_kept(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.attempts.add(Attempt("b.1", "p", 0, True, "resolved", "", ""))
    with sqlite3.connect(tmp_path / "curriculum.sqlite") as database:
        database.execute("UPDATE attempts SET figures = ?", (json.dumps({"seconds": 1.5, "reward": 0.25}),))
    database.close()
    with open_curriculum(tmp_path) as pool:
        (attempt,) = pool.attempts.all()
    assert attempt.figures.seconds == 1.5
    assert json.loads(attempt.figures.model_dump_json())["reward"] == 0.25


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")
def test_a_run_on_a_disk_that_cannot_be_written_to_is_read(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with open_curriculum(run) as pool:
        pool.episodes.store(result(0))
        pool.episodes.take(1)
    script = (
        f"mount --bind {run} {run} && mount -o remount,ro,bind {run} && exec {sys.executable} -c "
        '"from selfplay.curriculum import *; from pathlib import Path\n'
        f"with read_pool(Path('{run}')) as p: print([b.id for b in p.bugs()])\n"
        f"try:\n    open_curriculum(Path('{run}')).__enter__()\nexcept CurriculumError as error: print(error)\""
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.splitlines()[0] == "['b.0']", done.stderr
    assert "cannot be written to: Read-only file system" in done.stdout


def test_a_path_that_is_too_long_is_shortened_and_leaves_nothing(tmp_path: Path) -> None:
    for last in ("x" * 850, "/".join(["y" * 200] * 3 + ["z" * 260])):
        with (
            pytest.raises(CurriculumError, match="characters long, 481 at most work") as refused,
            open_curriculum(tmp_path / last),
        ):
            pass
        assert "..." in refused.value.message and len(refused.value.message) < 300
    assert list(tmp_path.iterdir()) == []


def test_a_path_of_the_longest_length_is_opened(tmp_path: Path) -> None:
    run = tmp_path / "x" / ("y" * 200)
    run /= "z" * (MOST_PATH - len(str(run)) - 1)
    with open_curriculum(run) as pool:
        pool.settle({"seed": 1})
    with open_existing(run) as pool:
        assert pool.setting("seed", int, 0) == 1


def test_a_pool_that_fails_before_anything_is_stored_goes_again(tmp_path: Path) -> None:
    with pytest.raises(KeyError), open_curriculum(tmp_path / "above" / "run") as pool:
        pool.settle({"seed": 1})
        raise KeyError
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("stored", ["an episode", "a file"])
def test_a_pool_that_fails_later_stays(tmp_path: Path, stored: str) -> None:
    with pytest.raises(KeyError), open_curriculum(tmp_path / "run") as pool:
        if stored == "a file":
            (tmp_path / "run" / "summary.json").write_text("{}")
        else:
            pool.episodes.store(result(0))
        raise KeyError
    with open_existing(tmp_path / "run") as pool:
        assert pool.episodes.any_stored() == (stored == "an episode")
    with pytest.raises(KeyError), open_curriculum(tmp_path / "run"):
        raise KeyError  # of a later command, which did not make it
    assert (tmp_path / "run" / "curriculum.sqlite").is_file()


def test_only_a_command_with_an_out_is_told_of_one(tmp_path: Path) -> None:
    with open_curriculum(tmp_path):
        with pytest.raises(CurriculumError) as making, open_curriculum(tmp_path):
            pass
        with pytest.raises(CurriculumError) as using, open_existing(tmp_path):
            pass
    assert "--out" in making.value.hint and "--out" not in using.value.hint
    (tmp_path / "curriculum.sqlite").write_bytes(b"no database at all, but some text that is long enough")
    with pytest.raises(CurriculumError) as making, open_curriculum(tmp_path):
        pass
    with pytest.raises(CurriculumError) as using, open_existing(tmp_path):
        pass
    assert "--out" in making.value.hint and "--out" not in using.value.hint
