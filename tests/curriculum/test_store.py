"""The pool of a run: the same whatever order results come in, and whole whenever its process is killed."""

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import hand_made
import pytest

from selfplay.artifact import Artifact, Bug, load, load_bug
from selfplay.curriculum import (
    Attempt,
    Curriculum,
    CurriculumError,
    EpisodeRecord,
    StoredEpisodeFigures,
    open_curriculum,
)
from selfplay.curriculum.summary import summarise, write_summary

ARTIFACT = hand_made.artifact("python")


def result(number: int, status: str = "valid", tree: str | None = None) -> EpisodeRecord:
    """Episode `number`'s result; a valid one has the buggy tree `tree`, its own if not given."""
    figures = StoredEpisodeFigures(seconds=1.0, files=("a.py",), changed_lines=number, fail_to_pass=1, suite_runs=3)
    if status != "valid":
        check = "bug" if status == "invalid" else None
        return EpisodeRecord(number, "removal", status, "why", figures, failed_check=check)
    artifact = Artifact(**{**vars(ARTIFACT), "test_script": f"echo {number}\n"})
    bug = Bug(
        id=f"b.{number}", strategy="removal", seed=0, source="s", revision="r", commit="c", tree_hash="t",
        content_hash=artifact.content_hash(), fail_to_pass=("x",), pass_to_pass=("y",), policy="p",
    )  # fmt: skip
    return EpisodeRecord(number, "removal", "valid", "", figures, None, tree or f"tree {number}", artifact, bug)


def episodes(seed: int, count: int = 24) -> list[EpisodeRecord]:
    """Results of all kinds; about a third of the valid ones repeat an earlier tree."""
    rng = random.Random(seed)
    return [
        result(n, rng.choice(["valid", "valid", "invalid", "gave_up"]), f"tree {rng.randrange(12)}")
        for n in range(count)
    ]


def check_whole(pool: Curriculum) -> None:
    """What holds after any kill: every bug of the pool has its folder whole, and no folder is nobody's."""
    ids = [bug.id for bug in pool.bugs()]
    assert len(ids) == pool.episodes.count() == len(set(ids))
    for bug in pool.bugs():
        folder = pool.folder / "bugs" / bug.id
        assert load_bug(folder) == bug
        assert load(folder).content_hash() == bug.content_hash
    summarise(pool)
    numbers = [episode.number for episode in pool.episodes.records()]
    assert numbers == list(range(len(numbers)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_completion_gives_the_same_pool(tmp_path: Path, seed: int) -> None:
    wanted, results = 8, episodes(seed)
    first_of_tree: dict[str, int] = {}
    for one in results:
        if one.tree_key is not None:
            first_of_tree.setdefault(one.tree_key, one.number)
    expected = [f"b.{number}" for number in list(first_of_tree.values())[:wanted]]
    for order in range(3):
        shuffled = random.Random(order).sample(results, len(results))
        with open_curriculum(tmp_path / str(order)) as pool:
            for one in shuffled:
                pool.episodes.store(one)
                pool.episodes.take(wanted)
            assert [bug.id for bug in pool.bugs()] == expected
            check_whole(pool)
            repeated = {e.number for e in pool.episodes.records() if e.status == "duplicate"}
            taken = len(pool.episodes.records())
            assert repeated == {
                r.number for r in results[:taken] if r.tree_key and first_of_tree[r.tree_key] != r.number
            }


def test_patience_ends_at_the_same_episode_in_any_order(tmp_path: Path) -> None:
    results = [result(0), *(result(n, "invalid") for n in range(1, 6)), result(6)]
    for number, order in enumerate((results, results[::-1])):
        with open_curriculum(tmp_path / str(number)) as pool:
            for one in order:
                pool.episodes.store(one)
                pool.episodes.take(2, patience=5)
            assert [bug.id for bug in pool.bugs()] == ["b.0"] and pool.episodes.fruitless() == 5
            pool.episodes.take(2, patience=6)  # more patience goes on where it stopped
            assert [bug.id for bug in pool.bugs()] == ["b.0", "b.6"]


def test_staged_bugs_wait_for_a_run_that_wants_more(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        for number in range(3):
            pool.episodes.store(result(number))
        assert [bug.id for bug in pool.episodes.take(1)] == ["b.0"]
    with open_curriculum(tmp_path) as pool:
        assert pool.episodes.finished() == {0, 1, 2} and pool.episodes.count() == 1
        assert [bug.id for bug in pool.episodes.take(3)] == ["b.1", "b.2"]
        check_whole(pool)


def test_a_gap_holds_back_what_comes_after_it(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.episodes.store(result(1))
        assert pool.episodes.take(1) == []
        pool.episodes.store(result(0, "gave_up"))
        assert [bug.id for bug in pool.episodes.take(1)] == ["b.1"]


CHILD = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {here!r}]
from test_store import episodes
from selfplay.curriculum import open_curriculum
with open_curriculum(Path({folder!r})) as pool:
    print("open", flush=True)
    for one in episodes(1):
        if one.number not in pool.episodes.finished():
            sys.stdin.readline()
            pool.episodes.store(one)
            pool.episodes.take(20)
            print("stored", flush=True)
    print("done", flush=True)
"""


def killed_while_storing(code: str, whole: int, delay: float) -> bool:
    """Let it store so many episodes, then kill it at some moment of the next; False when it had come to its end.

    It stores nothing unasked, so it is never further than the episode it is killed in, however late the kill comes.
    """
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        said = [child.stdout.readline()]
        while said[-1] != "done\n" and said.count("stored\n") < whole:
            print(file=child.stdin, flush=True)
            said.append(child.stdout.readline())
        if said[-1] != "done\n":
            print(file=child.stdin, flush=True)
            time.sleep(delay)
        child.kill()
    return said[-1] != "done\n"


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_a_pool_that_goes_on(tmp_path: Path) -> None:
    """The same run, killed again and again until it gets to its end, comes to the same pool as one left alone."""
    with open_curriculum(tmp_path / "calm") as pool:
        for one in episodes(1):
            pool.episodes.store(one)
        pool.episodes.take(20)
        calm = pool.bugs()
    folder, rng, kills = tmp_path / "killed", random.Random(0), 0
    code = CHILD.format(tests=str(Path(hand_made.__file__).parent), here=str(Path(__file__).parent), folder=str(folder))
    for _ in range(60):
        finished = not killed_while_storing(code, whole=rng.randrange(1, 4), delay=rng.uniform(0, 0.01))
        kills += not finished
        with open_curriculum(folder) as pool:
            check_whole(pool)
            assert all(path.name.isdigit() for path in (folder / "staging").glob("*"))
        if finished:
            break
    assert finished and kills >= 1
    with open_curriculum(folder) as pool:
        pool.episodes.take(20)
        assert pool.bugs() == calm
        check_whole(pool)


@pytest.mark.parametrize("moment", ["staged", "moved"])
def test_the_steps_of_taking_a_bug_can_each_be_the_last(tmp_path: Path, moment: str) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.episodes.store(result(0))
    if moment == "moved":
        (tmp_path / "bugs").mkdir()
        (tmp_path / "staging" / "000000").rename(tmp_path / "bugs" / "b.0")
    with open_curriculum(tmp_path) as pool:
        pool.episodes.take(1)
        check_whole(pool)
        assert pool.episodes.count() == 1 and [e.status for e in pool.episodes.records()] == ["valid"]


def test_what_a_kill_left_in_staging_goes_and_what_a_user_put_beside_the_bugs_stays(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.episodes.store(result(0))
        pool.episodes.take(1)
    (tmp_path / "staging" / "000001").mkdir(parents=True)
    (tmp_path / "bugs" / "mine").mkdir()
    (tmp_path / "bugs" / "mine" / "notes").write_text("mine")
    with open_curriculum(tmp_path) as pool:
        check_whole(pool)
    assert (tmp_path / "bugs" / "mine" / "notes").read_text() == "mine"
    assert list((tmp_path / "staging").iterdir()) == []


@pytest.mark.parametrize("name", ["bugs", "original", "original-2", "staging", "trajectories"])
def test_a_folder_that_is_no_run_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name / "mine").mkdir(parents=True)
    with (
        pytest.raises(CurriculumError, match=f"holds {name}/ but no curriculum.sqlite: it is not a run's folder"),
        open_curriculum(tmp_path),
    ):
        pass
    assert (tmp_path / name / "mine").is_dir()


@pytest.mark.slow
def test_a_second_process_is_told(tmp_path: Path) -> None:
    code = "from selfplay.curriculum import *; from pathlib import Path\n"
    code += f"with open_curriculum(Path({str(tmp_path)!r})): pass"
    with open_curriculum(tmp_path):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert f"another process works on {tmp_path}" in done.stderr
    assert "Wait for it, stop it, or give another --out." in done.stderr
    with open_curriculum(tmp_path):
        pass


def test_settings_bind_once_an_episode_is_stored(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.settle({"source": "mistyped", "seed": 0, "test": None})
    with open_curriculum(tmp_path) as pool:
        pool.settle({"source": "right", "seed": 0, "test": "make check"})
        pool.settle({"tree_hash": "t"})
        pool.episodes.store(result(0))
    with open_curriculum(tmp_path) as pool:
        pool.settle({"source": "right", "seed": 0, "test": "make check", "tree_hash": "t"})
        with pytest.raises(CurriculumError, match=f"{tmp_path} was made with seed = 0, not 1") as caught:
            pool.settle({"source": "right", "seed": 1})
        assert "Resume with the same settings, or give another --out." in caught.value.hint


def test_a_run_of_a_version_without_groups_goes_on_without_them(tmp_path: Path) -> None:
    """It recorded no `group`: each of its injector episodes had a prompt of its own."""
    with open_curriculum(tmp_path) as pool:
        pool.settle({"source": "s"})
        pool.episodes.store(result(0))
        with pytest.raises(CurriculumError, match=f"{tmp_path} was made with group = 1, not 4"):
            pool.settle({"source": "s", "group": 4})
        pool.settle({"source": "s", "group": 1})


def test_attempts_of_an_earlier_version_are_those_of_the_policy_they_are_named_by(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.attempts.add(Attempt("bug", "scripted", 0, False, "empty", "", ""))
        with pytest.raises(CurriculumError, match="scripted: policy = 'scripted', not 'openai:m'"):
            pool.settle_attempts("scripted", {"policy": "openai:m"})
        pool.settle_attempts("scripted", {"policy": "scripted"})


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
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", tmp_path], capture_output=True, check=False
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


def test_the_summary_counts_by_hand(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        for one in (result(0), result(1, "invalid"), result(2, "gave_up"), result(3, tree="tree 0"), result(4)):
            pool.episodes.store(one)
        pool.episodes.take(2)
        summary = summarise(pool)
    assert [(bug["id"], bug["episode"], bug["changed_lines"]) for bug in summary["bugs"]] == [
        ("b.0", 0, 0), ("b.4", 4, 4),
    ]  # fmt: skip
    assert summary["figures"] == {
        "bugs": 2, "by_strategy": {"removal": 2}, "episodes": 5,
        "submitted": 4, "valid_share": 0.667,  # all but the one that gave up; the duplicate aside, two of three
        "statuses": {"valid": 2, "invalid": 1, "gave_up": 1, "duplicate": 1}, "failed_checks": {"bug": 1},
        "reasons": {"why": 1},  # of the episode that gave up
        "median_changed_lines": 2.0,  # of 0 and 4
        "median_fail_to_pass": 1, "files_touched": 1, "validation_suite_runs": 15,  # 5 times 3
        "played_again": 0, "unplayed": {},
        "finishes": {}, "malformed_calls": 0, "usage": {},  # no model played
    }  # fmt: skip
    write_summary(tmp_path, summary)
    assert json.loads((tmp_path / "summary.json").read_text()) == summary


def test_an_empty_pool_has_a_summary(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        figures = summarise(pool)["figures"]
    assert (figures["bugs"], figures["valid_share"], figures["median_changed_lines"]) == (0, None, None)


def test_settings_of_an_earlier_version_bind_as_far_as_they_were_recorded(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.settle({"thresholds": {"min_passing_tests": 5}})
        pool.episodes.store(result(0))
    with open_curriculum(tmp_path) as pool:
        with pytest.raises(CurriculumError, match="was made with thresholds"):
            pool.settle({"thresholds": {"min_passing_tests": 6, "max_changed_files": 100}})
        pool.settle({"thresholds": {"min_passing_tests": 5, "max_changed_files": 100}})


def test_an_episode_whose_bug_is_taken_is_not_stored_again(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.episodes.store(result(0))
        pool.episodes.take(1)
        pool.episodes.store(result(0, "invalid"))
        assert [(e.number, e.status) for e in pool.episodes.records()] == [(0, "valid")]
        assert pool.episodes.waiting() == 0 and not list((tmp_path / "staging").iterdir())


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
