"""The last line of `selfplay validate`."""

from pathlib import Path

import pytest
from run_fixtures import Command

from selfplay.errors import SelfplayError
from selfplay.report.tables import verdict_line


@pytest.mark.parametrize(
    ("valid", "said"),
    [
        ({"a": True}, "1 of 1 bug valid"),
        ({f"b{n}": True for n in range(10)}, "10 of 10 bugs valid"),
        ({"b": False, "a": False, "c": True}, "1 of 3 bugs valid, not: a, b"),
        ({f"b{n:02}": False for n in range(12)},
         "0 of 12 bugs valid, not: b00, b01, b02, b03, b04, b05, b06, b07, b08, b09 and 2 more"),
    ],
)  # fmt: skip
def test_the_verdict_is_one_line(valid: dict[str, bool], said: str) -> None:
    assert verdict_line(valid) == said


def test_bugs_that_could_not_be_checked_are_not_called_invalid() -> None:
    said = verdict_line({"a": False, "b": False, "c": True}, unchecked=["b"])
    assert said == "1 of 3 bugs valid, not: a; could not be checked: b"
    assert verdict_line({"a": False}, unchecked=["a"]) == "0 of 1 bug valid; could not be checked: a"


@pytest.mark.slow
def test_it_ends_with_the_verdict(selfplay: Command, run: Path) -> None:
    broken = sorted((run / "bugs").iterdir())[0]
    (broken / "test_parser.py").unlink()
    done = selfplay("validate", run)
    assert done.code == 1 and done.out.splitlines()[-1] == f"3 of 4 bugs valid, not: {broken.name}"
    assert "checking 4 bugs: 0 of 4" in done.err.splitlines()


@pytest.mark.slow
def test_a_run_is_audited_as_a_bug_is(selfplay: Command, run: Path) -> None:
    done = selfplay("audit", run, "--json")
    assert done.code in (0, 2), done.err
    assert [one["id"] for one in done.json] == sorted(bug.name for bug in (run / "bugs").iterdir())
    first = done.json[0]
    alone = selfplay("audit", run / "bugs" / first["id"], "--json")
    assert {"id": first["id"], **alone.json} == first


def damage_all_but_one(run: Path) -> list[str]:
    """Damage every bug but the last; returns the ids of the damaged ones."""
    *broken, _ = sorted((run / "bugs").iterdir())
    for bug in broken:
        (bug / "test_parser.py").unlink()
    return [bug.name for bug in broken]


@pytest.mark.slow
def test_a_damaged_bug_is_one_result_of_an_audit(selfplay: Command, run: Path) -> None:
    broken = damage_all_but_one(run)
    done = selfplay("audit", run, "--json")
    assert done.code == 2, done.err
    states = {one["id"]: one["state"] for one in done.json}
    assert len(states) == 4 and [bug for bug, state in states.items() if state == "failed"] == broken
    assert "test_parser.py" in done.json[0]["reason"]
    said = selfplay("audit", run).out.splitlines()
    assert said[-1].startswith("4 bugs: 3 failed, 1 ") and said[-1].endswith(", ".join(broken))


@pytest.mark.slow
def test_a_bug_without_an_original_is_one_result_of_a_validation(
    selfplay: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise SelfplayError("its original is gone", "Fetch it again.")

    monkeypatch.setattr("selfplay.commands.validate.prepared_for", gone)
    done = selfplay.here("validate", run, "--json")
    assert done.code == 2, done.err
    assert [one["id"] for one in done.json] == sorted(bug.name for bug in (run / "bugs").iterdir())
    assert {one["verdicts"][0]["reason"] for one in done.json} == {"its original is gone. Fetch it again."}
    assert not any(one["checked"] or one["valid"] for one in done.json)
    assert done.err.count(": its original is gone. Fetch it again.") == 1  # one reason, told once
    assert done.err.count(" could not be checked") == 4


@pytest.mark.slow
@pytest.mark.parametrize("command", ["solve", "eval"])
def test_a_run_of_which_nothing_can_be_attempted_ends_with_the_reason(
    selfplay: Command, run: Path, command: str
) -> None:
    for bug in (run / "bugs").iterdir():
        (bug / "test_parser.py").unlink()
    done = selfplay.here(command, run, "--policy", "empty", "--attempts", 1)
    assert done.code == 2, done.err
    said = done.err[done.err.index("selfplay: ") :]
    assert f"no bug of {run} could be attempted" in said and "test_parser.py" in said
