"""The last line of `selfplay validate`."""

from pathlib import Path

import pytest
from run_fixtures import Command

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
