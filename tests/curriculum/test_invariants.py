"""What a pool promises is demanded when it is opened, whoever made it; each broken promise is named."""

import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest
from curriculum.stored_results import result

from selfplay.artifact import ArtifactError
from selfplay.artifact.decoding import parse_json
from selfplay.artifact.reading import UntrustedDataError
from selfplay.curriculum import Attempt, CurriculumError, open_curriculum, read_pool
from selfplay.curriculum.database_errors import FREE
from selfplay.curriculum.stored_bugs import load_own

ATTEMPT = "INSERT INTO attempts VALUES ({bug}, 'p', {number}, {resolved}, '', '', '{{}}', 0, 0, '')"


def attempt(bug: str = "'b.0'", number: str = "0", resolved: str = "0") -> str:
    return ATTEMPT.format(bug=bug, number=number, resolved=resolved)


def made(folder: Path) -> None:
    """A pool of two bugs, with an episode without one between them and two that are not taken yet."""
    with open_curriculum(folder) as pool:
        for one in (result(0), result(1, "invalid"), result(2), result(4), result(5, "gave_up")):
            pool.episodes.store(one)
        pool.episodes.take(9)
        pool.add_cost("bugs", 1.0, 1.0)


def change(folder: Path, *statements: str) -> None:
    database = sqlite3.connect(folder / "curriculum.sqlite")
    with database:
        for statement in statements:
            database.execute(statement)
    database.close()


def test_a_pool_as_it_is_written_is_opened(tmp_path: Path) -> None:
    made(tmp_path)
    for opened in (open_curriculum, read_pool):
        with opened(tmp_path) as pool:
            assert [bug.id for bug in pool.bugs()] == ["b.0", "b.2"] and pool.episodes.fruitless() == 0


def test_episodes_played_from_outside_are_numbered_by_their_prompt(tmp_path: Path) -> None:
    """The first of prompt 3 (`serve-env`), in a pool that holds no other; as a run of ours it would be broken."""
    for policy, broken in (("outside", False), ("scripted", True)):
        with open_curriculum(tmp_path / policy) as pool:
            pool.settle({"policy": policy})
            pool.episodes.store(result(300_000))
            pool.episodes.take(None, in_order=False)
        with (
            pytest.raises(CurriculumError, match=NUMBER) if broken else nullcontext(),
            read_pool(tmp_path / policy) as pool,
        ):
            assert [bug.id for bug in pool.bugs()] == ["b.300000"]


PLACES = "the episodes taken have the places 1 to n"
NUMBER = "an episode's number is less than"
OWNER = "a bug is that of a valid episode"
LAST = "a bug's place is a count"
COSTS = "a value in costs.wall_seconds"


@pytest.mark.parametrize(
    ("statements", "named"),
    [
        (["UPDATE episodes SET taken = 10 WHERE taken = 3"], PLACES),
        (["UPDATE episodes SET taken = 2 WHERE taken = 3"], PLACES),
        (["UPDATE episodes SET taken = taken + 1 WHERE taken > 0"], PLACES),
        (["UPDATE episodes SET number = 1000000000 WHERE number = 1"], NUMBER),
        (["UPDATE episodes SET number = 10005 WHERE number = 5"], NUMBER),
        (["UPDATE episodes SET number = -1 WHERE number = 5"], "a value in episodes.number"),
        (["UPDATE episodes SET taken = 9223372036854775807 WHERE taken = 3"], "a value in episodes.taken"),
        (["UPDATE episodes SET repository = 'x' WHERE number = 5"], "repository is one of the pool's"),
        (["UPDATE episodes SET bug = NULL WHERE number = 4"], "a valid episode has a bug"),
        (["UPDATE episodes SET tree_key = NULL WHERE number = 4"], "a valid episode has a bug"),
        (["UPDATE bugs SET episode = 1 WHERE id = 'b.2'"], OWNER),
        (["UPDATE bugs SET episode = 4 WHERE id = 'b.2'"], OWNER),
        (["UPDATE bugs SET episode = 77 WHERE id = 'b.2'"], OWNER),
        (["UPDATE bugs SET repository = 'x' WHERE id = 'b.2'"], OWNER),
        (["UPDATE bugs SET tree_key = 'x' WHERE id = 'b.2'"], OWNER),
        (["DELETE FROM bugs WHERE id = 'b.2'"], "a valid episode that was taken gave a bug"),
        (["UPDATE bugs SET place = 9223372036854775807 WHERE id = 'b.2'"], "a value in bugs.place"),
        (["UPDATE sqlite_sequence SET seq = 9223372036854775807"], LAST),
        (["UPDATE sqlite_sequence SET seq = 'x'"], LAST),
        (["UPDATE costs SET wall_seconds = 9e999"], COSTS),
        (["UPDATE costs SET wall_seconds = -9e999"], COSTS),
        (["UPDATE costs SET wall_seconds = 1e308"], COSTS),
        ([attempt(number="1000000001")], "a value in attempts.number"),
        ([attempt(resolved="2")], "a value in attempts.resolved"),
        ([attempt(bug="'b.0' || char(0) || '/../x'")], "a value in attempts.bug"),
        (["INSERT INTO audits VALUES ('b.0', 3, '{}')"], "a value in audits.clean"),
        (["INSERT INTO promotions VALUES ('b.0', 'p', 0, '', NULL, '{}')"], "a promoted bug has the hash"),
        (["UPDATE episodes SET status = 'x' WHERE number = 5"], "a status that selfplay knows"),
        (["INSERT INTO run VALUES ('jobs played again', 'x')"], "the jobs played again are a count"),
        (["INSERT INTO run VALUES ('jobs played again', '99999999999999999999')"], "the jobs played again"),
        (["UPDATE episodes SET trajectory = 'a.zst' || char(0) || '/../../x'"], "a value in episodes.trajectory"),
    ],
)  # fmt: skip
def test_a_broken_promise_is_named(tmp_path: Path, statements: Sequence[str], named: str) -> None:
    made(tmp_path)
    change(tmp_path, *statements)
    for opened in (open_curriculum, read_pool):
        with pytest.raises(CurriculumError, match=named), opened(tmp_path):
            pass


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE sqlite_sequence SET seq = 1000000000", "sqlite_sequence.seq"),
        (attempt(number="1000000000"), "attempts.number"),
        ("UPDATE episodes SET version_last = 600000000 WHERE number = 5", "episodes.version_last"),
    ],
)
def test_counts_that_leave_no_room_are_read_and_not_written_to(tmp_path: Path, statement: str, named: str) -> None:
    """What was stored next was beyond the bound, and no command could read the run again."""
    made(tmp_path)
    change(tmp_path, statement)
    with read_pool(tmp_path) as pool:
        assert pool.bugs()
    with pytest.raises(CurriculumError, match=f"{named} is so high that nothing"), open_curriculum(tmp_path):
        pass


def test_no_text_of_any_table_holds_a_nul(tmp_path: Path) -> None:
    made(tmp_path)
    change(
        tmp_path, attempt(), "INSERT INTO audits VALUES ('b.0', 1, '{}')", "INSERT INTO run VALUES ('k', '1')",
        "INSERT INTO promotions VALUES ('b.0', 'p', 0, '', 't', NULL)", "INSERT INTO imported VALUES ('c.0', '{}')",
    )  # fmt: skip
    whole = (tmp_path / "curriculum.sqlite").read_bytes()
    database = sqlite3.connect(tmp_path / "curriculum.sqlite")
    tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE TABLE%'")]
    columns = [
        (table, row[1])
        for table in tables
        for row in database.execute(f"PRAGMA table_info({table})").fetchall()
        if row[2] == "TEXT"
    ]
    database.close()
    assert len(columns) > 25
    for table, column in columns:
        (tmp_path / "curriculum.sqlite").write_bytes(whole)
        with read_pool(tmp_path):
            pass
        one = f"rowid = (SELECT MIN(rowid) FROM {table})"
        change(tmp_path, f"UPDATE {table} SET {column} = 'a' || char(0) || 'b' WHERE {one}")
        with pytest.raises(CurriculumError, match=f"a value in {table}.{column} is not"), read_pool(tmp_path):
            pass


def test_a_reason_with_a_nul_is_stored_without_it(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.attempts.add(Attempt("b.0", "p", 0, False, "failing-tests", "it said \0 and no more", ""))
        pool.lost.set_aside("episode\0 1", "lost\0")
    with open_curriculum(tmp_path) as pool:
        assert [one.detail for one in pool.attempts.all()] == ["it said \ufffd and no more"]
        assert pool.lost.unplayed() == {"episode\ufffd 1": "lost\0"}


def test_a_bugs_row_with_another_bugs_record_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    change(tmp_path, "UPDATE bugs SET id = 'b.9' WHERE id = 'b.2'")
    with pytest.raises(CurriculumError, match=r"the bug b\.9 has no record of its own"), read_pool(tmp_path) as pool:
        pool.bugs()


def test_a_note_about_a_lost_job_that_is_no_json_is_typed(tmp_path: Path) -> None:
    made(tmp_path)
    change(tmp_path, "INSERT INTO run VALUES ('could not be played: x', '[')")
    with pytest.raises(CurriculumError, match="a row of the pool is damaged"), read_pool(tmp_path) as pool:
        pool.lost.unplayed()


@pytest.mark.parametrize("said", ["1.7e308", "-1e19", "9e999", "1e400"])
def test_a_number_whose_sums_are_not_finite_is_refused(tmp_path: Path, said: str) -> None:
    with pytest.raises(UntrustedDataError, match="too large a number"):
        parse_json(said.encode(), "it")
    made(tmp_path)
    for name in ("seconds", "usage"):
        figures = f'{{"{name}": {said}}}' if name == "seconds" else f'{{"usage": {{"x": {said}}}}}'
        change(tmp_path, f"UPDATE episodes SET figures = '{figures}'")
        with pytest.raises(CurriculumError, match="a row of the pool is damaged"), read_pool(tmp_path) as pool:
            pool.episodes.records()


@pytest.mark.parametrize("figures", [{"seconds": 1e13}, {"calls": 10**10}, {"drift": -1}, {"usage": {"x": 1e16}}])
def test_a_figure_beyond_its_bound_is_refused(tmp_path: Path, figures: dict[str, object]) -> None:
    made(tmp_path)
    change(tmp_path, f"UPDATE episodes SET figures = '{json.dumps(figures)}'")
    with pytest.raises(CurriculumError, match="a row of the pool is damaged"), read_pool(tmp_path) as pool:
        pool.episodes.records()


def test_only_a_full_disk_is_called_full(tmp_path: Path) -> None:
    """A message may hold any word; the code tells."""
    for error, hint in ((sqlite3.OperationalError("no such column: full"), False), (_full(), True)):
        with pytest.raises(CurriculumError) as caught, open_curriculum(tmp_path):
            raise error
        assert (caught.value.hint == FREE) is hint


def _full() -> sqlite3.Error:
    database = sqlite3.connect(":memory:")
    database.execute("PRAGMA max_page_count = 2")
    try:
        database.execute("CREATE TABLE a AS SELECT zeroblob(100000)")
    except sqlite3.Error as error:
        return error
    finally:
        database.close()
    raise AssertionError("it was not full")


def test_a_bug_in_a_folder_of_another_name_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    folder = tmp_path / "bugs" / "b.0"
    assert load_own(folder).id == "b.0"
    folder.rename(folder.with_name("b.7"))
    with pytest.raises(ArtifactError, match=r"(?s)is that of b\.0, and its folder is 'b\.7'.*rename it"):
        load_own(folder.with_name("b.7"))
    alone = shutil.copytree(folder.with_name("b.7"), tmp_path / "elsewhere" / "found")
    assert load_own(alone).id == "b.0"
