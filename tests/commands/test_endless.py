"""The loop that makes bugs ends on any state of a pool: the numbers in it are anybody's."""

import random
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from curriculum.stored_results import result
from table_rows import long_rows

from selfplay.commands.make_bugs import BugsWanted, _Loop
from selfplay.curriculum import Curriculum, CurriculumError, open_curriculum

PATIENCE, BUGS = 5, 6
RUN = cast(Any, SimpleNamespace(repository="", player="a model"))
NUMBERS = (0, 1, 2, 3, 5, 9, 11, 500, 10_000, 10**9, 2**62, 2**63 - 1)


def played(pool: Curriculum, rng: random.Random) -> str:
    """Play episodes one by one until the loop ends; fails when it plays more than it may."""
    loop = _Loop(RUN, pool, BugsWanted(BUGS, PATIENCE))
    loop.take()
    for _ in range(BUGS * PATIENCE + 1):
        number = loop.next_number(0)
        if number is None:
            return loop.reason()
        record = result(number, rng.choice(["invalid", "gave_up", "valid"]), f"tree {rng.randrange(99)}")
        pool.episodes.store(record)
        loop.count(record, loop.take())
    raise AssertionError("the loop plays on and on")


def hostile(rng: random.Random, database: sqlite3.Connection) -> None:
    """Other numbers and places in some of the episodes, and other episodes for some of the bugs."""
    for _ in range(rng.randrange(1, 5)):
        column = rng.choice(["number", "taken"])
        value = rng.choice(NUMBERS)
        which = rng.choice(["= (SELECT MAX(number) FROM episodes)", f"= {rng.randrange(6)}"])
        statements = [f"UPDATE OR IGNORE episodes SET {column} = {value} WHERE number {which}"]
        if rng.random() < 0.3:
            statements.append(f"UPDATE OR IGNORE bugs SET episode = {value} WHERE episode {which}")
        for statement in statements:
            database.execute(statement)
    database.commit()


def made(folder: Path, rng: random.Random) -> None:
    with open_curriculum(folder) as pool:
        for number in rng.sample(range(8), 5):
            pool.episodes.store(result(number, rng.choice(["valid", "invalid"])))
            pool.episodes.take(3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", long_rows(range(60)))
def test_hostile_numbers_are_refused_or_end(tmp_path: Path, seed: int) -> None:
    """As a stranger's pool, and once more as a pool that nothing looked through: the loop relies on no guard."""
    for guarded in (True, False):
        rng, folder = random.Random(seed), tmp_path / str(guarded)
        made(folder, rng)
        if guarded:
            database = sqlite3.connect(folder / "curriculum.sqlite")
            hostile(rng, database)
            database.close()
        try:
            with open_curriculum(folder) as pool:
                if not guarded:
                    hostile(rng, pool._db)
                assert played(pool, rng)
        except CurriculumError:
            continue


def test_what_lies_beyond_a_gap_is_not_played_for_ever(tmp_path: Path) -> None:
    """The state that a number far away left: nothing that follows could be taken."""
    with open_curriculum(tmp_path) as pool:
        pool.episodes.store(result(0, "gave_up"))
        pool.episodes.take(1)
        pool._db.execute("UPDATE episodes SET number = 1000000000, taken = 10")
        rng = random.Random(0)
        said = played(pool, rng)
        assert said == "enough bugs" or said.startswith(f"the last {PATIENCE} episodes gave no new bug")


def test_an_episode_that_others_wait_for_may_still_give_a_bug(tmp_path: Path) -> None:
    """Patience runs out behind it: nothing new begins until it ends, and then the run goes on as in any other order."""
    with open_curriculum(tmp_path) as pool:
        loop = _Loop(RUN, pool, BugsWanted(9, 3))
        numbers = [loop.next_number(running) for running in range(4)]
        assert numbers == [0, 1, 2, 3]
        for number in (1, 2, 3):
            record = result(number, "invalid")
            pool.episodes.store(record)
            loop.count(record, loop.take())
        assert loop.next_number(1) is None
        pool.episodes.store(result(0))
        loop.count(result(0), loop.take())
        assert pool.episodes.count() == 1 and loop.reason() == (
            "the last 3 episodes gave no new bug; the commonest reason: it failed the check bug (3 times)"
        )


def test_a_run_with_a_limit_of_time_ends_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is played comes to its end; the same command goes on."""
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with open_curriculum(tmp_path) as pool:
        loop = _Loop(RUN, pool, BugsWanted(9, 40, minutes=2.5))
        assert [loop.next_number(running) for running in range(2)] == [0, 1] and loop.reason() == ""
        pool.episodes.store(result(0, "invalid"))
        loop.count(result(0, "invalid"), loop.take())
        now[0] += 150
        assert loop.next_number(1) is None
        assert loop.reason() == "2.5 minutes have passed; the commonest reason: it failed the check bug (once)"
        assert _Loop(RUN, pool, BugsWanted(9, 40)).next_number(0) == 1
