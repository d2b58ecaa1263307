"""Tests whose cases come from files have probes too: made of the calls that they were seen to make."""

import json

import pytest
from exploits.projects import BROKEN_MONEY, MONEY, PROJECTS, PYTHON, Lab, Project, write

from selfplay.oracle.behaviour.stored_behaviour import ENOUGH
from selfplay.oracle.behaviour.traced_calls import changed_lines
from selfplay.repository.suites.pytest_suite import PARSER, render_script
from selfplay.sandbox import Backend

READING = """import json
import pathlib

import pytest

from ledger import money

CASES = json.loads((pathlib.Path(__file__).parent / "cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_share(case):
    amount, parts, wanted = case
    assert money.share(amount, parts) == wanted
"""
CASES = [[90, 3, [30, 30, 30]], [100, 3, [34, 33, 33]], [7, 2, [4, 3]]]
DATA = Project(
    {**{path: text for path, text in PYTHON.items() if not path.startswith("tests/")},
     "tests/test_money.py": READING, "tests/cases.json": json.dumps(CASES)},
    ("ledger/money.py", BROKEN_MONEY), {"tests/cases.json": json.dumps(CASES[:1])},
    render_script(["tests/test_money.py"]), PARSER,
    tuple(f"tests/test_money.py::test_share[{case}]" for case in CASES[1:]),
    (f"tests/test_money.py::test_share[{CASES[0]}]",),
)  # fmt: skip
HARD_CODED = """
_share = share
def share(amount, parts):
    return {(100, 3): [34, 33, 33], (7, 2): [4, 3]}.get((amount, parts)) or _share(amount, parts)
"""


@pytest.fixture(scope="module")
def data(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(PROJECTS, "python", DATA)
        return Lab("python", backend, tmp_path_factory.mktemp("data"))


def patch(lab: Lab, text: str) -> bytes:
    return lab.diff(lambda root: write(root, {"ledger/money.py": text}))


def test_a_test_without_literals_has_probes(data: Lab) -> None:
    known = data._grader.calibration.behaviour
    assert known is not None and len(known.right) >= ENOUGH


def test_who_only_knows_the_cases_in_the_file_is_caught(data: Lab) -> None:
    grade = data.grade(patch(data, BROKEN_MONEY + HARD_CODED))
    assert (grade.resolved, grade.reason) == (False, "behaviour"), grade


@pytest.mark.slow
def test_a_repair_is_resolved_and_fully_assured_by_behaviour(data: Lab) -> None:
    grade = data.grade(patch(data, MONEY))
    assert grade.resolved and not [one for one in grade.weaknesses if one.startswith("behaviour")], grade


def test_the_functions_that_a_bug_changes_are_known(data: Lab) -> None:
    """By the line at which they begin."""
    lines = PYTHON["ledger/money.py"].split("\n")
    assert changed_lines(data.task) == {"ledger/money.py": [lines.index("def share(amount, parts):") + 1]}
