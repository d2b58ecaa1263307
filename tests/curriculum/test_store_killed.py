"""The pool of a run is whole whenever its process is killed."""

import random
import subprocess
import sys
import time
from pathlib import Path

import hand_made
import pytest
from curriculum.stored_results import check_whole, episodes, result

from selfplay.curriculum import open_curriculum

CHILD = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {here!r}]
from stored_results import episodes
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
