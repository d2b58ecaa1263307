"""The state a killed run goes on from: a step keeps its plan, settings bind, a stranger's file is refused."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from selfplay.loop.errors import TrainingError
from selfplay.loop.ledger import NAME, SCHEMA, VERSION, Ledger, Planned, open_ledger
from selfplay.loop.step_record import Phases, StepRecord

PLAN = [("r", 4), ("r", 5)]


def finished(step: int) -> StepRecord:
    """A step that taught nothing."""
    phases: Phases = {"wait": 0.5, "credit": 1.0, "learn": 2.0, "sync": 0.0}
    return {"number": step, "version": 0, "phases": phases, "step": None, "nothing": "no trainer", "rollouts": {}}


def test_a_repository_is_benched_for_some_steps_or_until_it_can_be_used(tmp_path: Path) -> None:
    with open_ledger(tmp_path) as ledger:
        ledger.bench("dry", 3, 7, "no bug")
        ledger.bench("broken", 0, None, "it does not build")
    with open_ledger(tmp_path) as ledger:
        both = {"dry": "no bug", "broken": "it does not build"}
        assert [sorted(ledger.benched(step)) for step in (0, 3, 6, 7)] == [
            ["broken"], sorted(both), sorted(both), ["broken"],
        ]  # fmt: skip
        assert ledger.benched(4) == both and ledger.since("dry") == 7 and ledger.since("broken") == 0
        ledger.usable("broken")
        assert ledger.benched(7) == {} and ledger.benched(3) == {"dry": "no bug"}


def test_a_step_keeps_its_plan_over_a_kill(tmp_path: Path) -> None:
    with open_ledger(tmp_path) as ledger:
        assert not ledger.planned(0) and ledger.begin(0, 7, PLAN) == Planned(0, 7, PLAN, None)
        assert ledger.injections() == PLAN and ledger.injections(played=True) == [] == ledger.injections(since=1)
        ledger.choose(0, [("b", 1), ("b", 2)])
    with open_ledger(tmp_path) as ledger:
        assert ledger.planned(0) and ledger.begin(0, 8, [("r", 9)]) == Planned(0, 7, PLAN, [("b", 1), ("b", 2)])
        assert ledger.finished() == [] and ledger.injections(played=True) == PLAN
        ledger.finish(finished(0))
    with open_ledger(tmp_path) as ledger:
        assert ledger.finished() == [finished(0)]


def test_what_is_open_is_of_steps_that_are_not_finished(tmp_path: Path) -> None:
    with open_ledger(tmp_path) as ledger:
        for step in range(3):
            ledger.begin(step, step, [("r", step)])
            ledger.choose(step, [("b", step)])
            assert ledger.open_injections() == [("r", step)] and ledger.open_attempts() == [("b", step)]
            ledger.finish(finished(step))
        assert ledger.open_injections() == [] == ledger.open_attempts()
        assert ledger.newest(2) == [finished(1), finished(2)] and ledger.newest(9) == ledger.finished()


def planned_with(folder: Path, column: str, value: object) -> None:
    """A ledger with one planned step, one of whose values somebody changed."""
    with open_ledger(folder) as ledger:
        ledger.begin(0, 0, PLAN)
    with sqlite3.connect(folder / NAME) as database:
        database.execute(f"UPDATE steps SET {column} = ?", (value,))


@pytest.mark.parametrize("figures", ["[1]", "1", "{"])
def test_a_damaged_step_is_named(tmp_path: Path, figures: str) -> None:
    planned_with(tmp_path, "figures", figures)
    with pytest.raises(TrainingError, match=NAME), open_ledger(tmp_path) as ledger:
        ledger.finished()


def test_a_ledger_of_more_values_than_any_run_writes_is_refused(tmp_path: Path) -> None:
    """Of 42 MB of empty lists a gigabyte was made."""
    with open_ledger(tmp_path):
        pass
    with sqlite3.connect(tmp_path / NAME) as database:
        text = json.dumps({"x": [[]] * 240_000})
        rows = [(step, text) for step in range(9)]
        database.executemany("INSERT INTO steps VALUES (?, 1, '[]', '[]', ?)", rows)
    with (
        pytest.raises(TrainingError, match="it holds more than 2,000,000 values"),
        open_ledger(tmp_path) as ledger,
    ):
        assert ledger.steps_finished() == 9
        ledger.finished()


@pytest.mark.parametrize("value", ["3", '"x"', "[1]", "[[]]", '{"a": 1}'])
def test_names_that_are_none_are_refused(tmp_path: Path, value: str) -> None:
    with open_ledger(tmp_path) as ledger:
        ledger.settle({"only": ["a", "b"], "all": None})
        assert ledger.names("only") == ["a", "b"] and ledger.names("all") is None is ledger.names("none")
    with sqlite3.connect(tmp_path / NAME) as database:
        database.execute("UPDATE settings SET value = ? WHERE name = 'only'", (value,))
    with pytest.raises(TrainingError, match="only is no list of names"), open_ledger(tmp_path) as ledger:
        ledger.names("only")


def test_settings_bind(tmp_path: Path) -> None:
    with open_ledger(tmp_path) as ledger:
        ledger.settle({"model": "a", "recipe": {"lr": 0.5}})
    with open_ledger(tmp_path) as ledger:
        ledger.settle({"model": "a"})
        assert ledger.recorded("recipe") == {"lr": 0.5} and ledger.recorded("other") is None
        with pytest.raises(TrainingError, match="begun with model = a, not b"):
            ledger.settle({"model": "b"})


def test_what_an_earlier_version_did_not_know_was_as_it_is_by_default(tmp_path: Path) -> None:
    with open_ledger(tmp_path) as ledger:
        ledger.settle({"solver": {"bugs": 2}})
    with open_ledger(tmp_path) as ledger:
        default = {"solver": {"bugs": 1, "only": []}}
        with pytest.raises(TrainingError, match=r"begun with solver = .*'only': \[\].* not .*'only': \['b'\]"):
            ledger.settle({"solver": {"bugs": 2, "only": ["b"]}}, unrecorded=default)
        ledger.settle({"solver": {"bugs": 2, "only": []}}, unrecorded=default)
    with open_ledger(tmp_path) as ledger:
        assert ledger.recorded("solver") == {"bugs": 2, "only": []}


def test_a_strangers_ledger(tmp_path: Path) -> None:
    """A trigger that is not ours, a database of a later version, a file that is not a database, a link."""
    with open_ledger(tmp_path) as ledger:
        ledger.begin(0, 0, PLAN)
    path = tmp_path / NAME
    with sqlite3.connect(path) as database:
        database.execute("CREATE TRIGGER t AFTER INSERT ON steps BEGIN DELETE FROM settings; END")
    with pytest.raises(TrainingError, match="that selfplay did not make"), open_ledger(tmp_path):
        pass
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(TrainingError, match="later version"), open_ledger(tmp_path):
        pass
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(TrainingError, match="Is it damaged"), open_ledger(tmp_path):
        pass
    path.unlink()
    path.symlink_to("/etc/passwd")
    with pytest.raises(TrainingError, match="not a regular file"), open_ledger(tmp_path):
        pass


@pytest.mark.parametrize("plan", ['["a"]', "[[1, 2]]", "[4, 5]", "1", "[" * 500])
def test_a_damaged_plan_is_named(tmp_path: Path, plan: str) -> None:
    planned_with(tmp_path, "injections", plan)
    with pytest.raises(TrainingError, match=NAME), open_ledger(tmp_path) as ledger:
        ledger.begin(0, 0, PLAN)


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("figures", b"x", "text"),
        ("injections", b"x", "text"),
        ("version", "abc", "integer"),
        ("version", float("inf"), "integer"),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_named(tmp_path: Path, column: str, value: object, kind: str) -> None:
    """SQLite stores any value in any column."""
    planned_with(tmp_path, column, value)
    with pytest.raises(TrainingError, match=rf"a value in steps.{column} that is no {kind}"), open_ledger(tmp_path):
        pass


@pytest.mark.parametrize("bug", ["../../elsewhere/x", "/tmp/x", "a/b", "", ".."])
def test_a_plan_that_names_no_bug_is_refused(tmp_path: Path, bug: str) -> None:
    """Files are named after it: trajectories were written, and folders made, wherever it led."""
    planned_with(tmp_path, "attempts", json.dumps([["shop.1", 0], [bug, 0]]))
    for read in (Ledger.open_attempts, lambda ledger: ledger.begin(0, 0, PLAN)):
        with pytest.raises(TrainingError, match="which is no bug"), open_ledger(tmp_path) as ledger:
            read(ledger)


@pytest.mark.parametrize("number", ["-1", "9223372036854775807", "1e3", "true"])
def test_an_attempt_has_a_number_that_the_pool_takes(tmp_path: Path, number: str) -> None:
    """One that it does not take was stored, and no command could read the run again."""
    planned_with(tmp_path, "attempts", f'[["shop.1", {number}]]')
    with pytest.raises(TrainingError, match=NAME), open_ledger(tmp_path) as ledger:
        ledger.open_attempts()


@pytest.mark.parametrize("first", ["[1]", '{"a": null}', '{"a": -1}', '{"a": 1.5}', "1"])
def test_the_first_episodes_are_counts(tmp_path: Path, first: str) -> None:
    with open_ledger(tmp_path) as ledger:
        ledger.settle({"first": json.loads(first)})
    with pytest.raises(TrainingError, match="first is no table of counts"), open_ledger(tmp_path) as ledger:
        ledger.counts("first")


@pytest.mark.parametrize("attempts", [3.5, "3", "[1]", "[[1, 2]]", "{}", "["], ids=str)
def test_damaged_attempts_are_named(tmp_path: Path, attempts: object) -> None:
    planned_with(tmp_path, "attempts", attempts)
    with pytest.raises(TrainingError, match=NAME), open_ledger(tmp_path) as ledger:
        ledger.open_attempts()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("figures TEXT", "figures TEXT GENERATED ALWAYS AS (hex(zeroblob(9)))"),
        ("version INTEGER NOT NULL", "version INTEGER NOT NULL DEFAULT '--' CHECK (hex(randomblob(9)))\n"),
        ("attempts TEXT", "attempts TEXT, more TEXT"),
    ],
)
def test_a_ledger_whose_tables_are_defined_otherwise_is_refused(tmp_path: Path, old: str, new: str) -> None:
    schema = SCHEMA.replace(old, new)
    assert schema != SCHEMA
    with closing(sqlite3.connect(tmp_path / NAME)) as database:
        database.executescript(f"{schema};PRAGMA user_version = {VERSION};")
    with pytest.raises(TrainingError, match="that selfplay did not make"), open_ledger(tmp_path):
        pass
