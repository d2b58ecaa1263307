"""What a training run asks of its pool for each of its episodes: the same as a reading of all of it gives, and at a
cost that does not grow with what the pool holds. (Once a step it reads more: the names of all bugs, and the ledger.)"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from curriculum.test_crediting import attempt, injection, stored
from curriculum.test_episodes import of

from selfplay.curriculum import Curriculum, open_curriculum
from selfplay.curriculum.crediting import episodes_of, some_episodes

FEW, MANY = 20, 600


def test_some_episodes_are_as_all_of_them_are(tmp_path: Path) -> None:
    injections = [injection(0, "valid"), injection(1, "invalid"), injection(2, "gave_up"), injection(3, "valid")]
    attempts = [
        attempt(0, "resolved"),
        attempt(1, "canaries"),
        attempt(0, "suspect", "b.3"),
        attempt(0, "x", policy="o"),
    ]
    run = stored(tmp_path, injections, attempts)
    every = {one.episode.name: one for one in episodes_of(run)}
    with open_curriculum(run) as pool:
        found = some_episodes(pool, "scripted", [("s", 3), ("s", 1), ("s", 9)], [("b.3", 0), ("b.0", 1), ("b.0", 7)])
    assert [one.episode.name for one in found] == ["000003-injector", "000001-injector", "b.3 0", "b.0 1"]
    assert all(one == every[one.episode.name] for one in found)


def test_what_is_stored_and_which_number_is_next(tmp_path: Path) -> None:
    run = stored(tmp_path, [injection(0, "valid"), injection(3, "invalid")], [attempt(2, "resolved")])
    with open_curriculum(run) as pool:
        assert pool.episodes.stored(("s", number) for number in range(9)) == {("s", 0), ("s", 3)}
        assert pool.episodes.stored(("elsewhere", number) for number in range(9)) == set()
        assert (pool.episodes.newest("s"), pool.episodes.newest("elsewhere")) == (3, -1)
        wanted = [("b.0", 2), ("b.0", 1), ("b.9", 2)]
        assert pool.attempts.stored("scripted", wanted) == {("b.0", 2)} == pool.attempts.stored("scripted", wanted[:1])
        assert pool.attempts.stored("other", wanted) == set()
        assert (pool.attempts.newest("b.0", "scripted"), pool.attempts.newest("b.0", "other")) == (2, -1)
        assert pool.orders() == {"b.0": 1} and [bug.id for bug in pool.some_bugs({"b.0", "b.1"})] == ["b.0"]


def test_keys_that_were_read_hold_what_is_taken_later(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.episodes.store(of("a", 0))
        pool.episodes.take(9, repository="a")
        assert pool.episodes.keys("a") == {"tree 0"} and pool.episodes.keys("b") == frozenset()
        pool.episodes.store(of("a", 1))
        pool.episodes.take(9, repository="a")
        assert pool.episodes.keys("a") == {"tree 0", "tree 1"}


@pytest.mark.slow
def test_an_episode_costs_no_more_where_a_run_holds_more(tmp_path: Path) -> None:
    """Counted in instructions of SQLite, which no other work on the machine changes: thirty times the rows may cost
    a tenth more (trees are deeper)."""
    few, many = step_in(tmp_path / "few", FEW), step_in(tmp_path / "many", MANY)
    assert many <= 1.1 * few, (few, many)


def step_in(folder: Path, rows: int) -> int:
    """What the questions of a step cost in a pool of so many episodes and attempts."""
    with open_curriculum(folder) as pool:
        for number in range(rows):
            pool.episodes.store(of("s", number, "invalid" if number % 4 else "valid"))
            pool.attempts.add(attempt(number, "failing-tests", bug=f"s.{number // 8 * 8}"))
        pool.episodes.take(None, repository="s", in_order=False)
        with counted(pool) as cost:
            step(pool, rows)
        return cost[0]


def step(pool: Curriculum, rows: int) -> None:
    """One injection and one attempt: planned, stored, taken, credited."""
    assert pool.episodes.newest("s") == rows - 1 and pool.episodes.stored([("s", rows)]) == set()
    pool.episodes.store(of("s", rows, "invalid"))
    pool.episodes.take(None, repository="s", in_order=False)
    number = pool.attempts.newest("s.0", "scripted") + 1
    pool.attempts.add(attempt(number, "resolved", bug="s.0"))
    assert pool.attempts.stored("scripted", [("s.0", number)])
    assert len(some_episodes(pool, "scripted", [("s", rows)], [("s.0", number)])) == 2


@contextmanager
def counted(pool: Curriculum) -> Iterator[list[int]]:
    """How many instructions SQLite executes inside."""
    database: sqlite3.Connection = pool._db
    cost = [0]

    def one() -> int:
        cost[0] += 1
        return 0

    database.set_progress_handler(one, 1)
    yield cost
    database.set_progress_handler(None, 0)
