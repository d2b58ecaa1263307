"""The pool of a run: the same whatever order results come in, and bound to the settings it was made with."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from curriculum.stored_results import check_whole, episodes, result

from selfplay.curriculum import Attempt, CurriculumError, open_curriculum


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
