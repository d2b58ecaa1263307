"""Names of options are those of the changed program, never those of its tests."""

from pathlib import Path

import pytest
from exploits.projects import Lab, Project

from selfplay.oracle.behaviour.program_names import package_texts, program_names
from selfplay.repository.suites.pytest_suite import PARSER, render_script
from selfplay.sandbox import Backend

SHOW = '''"""Shows a price."""

STYLES = {"plain": "{}", "euro": "{} EUR"}


def show(price, style="plain"):
    return STYLES[style].format(price)
'''
TESTS = """from pricing import showing


def test_shown():
    assert showing.show(3) == "3"


def test_hidden():
    assert showing.show(3, style="euro") == "3 EUR"
    assert showing.show("free", style="euro") == "free EUR"
"""
NAME = "tests/test_it.py"
FILES = {
    "pricing/__init__.py": "", "pricing/showing.py": SHOW, "pricing/tests/cases.py": "CASES = ['costly']",
    NAME: TESTS,
    "pyproject.toml": "[project]\nname = 'pricing'\nversion = '1'\n",
}  # fmt: skip
BUG = Project(
    FILES, ("pricing/showing.py", SHOW.replace('"{} EUR"', '"{}"')), {NAME: TESTS.split("def test_hidden")[0]},
    render_script([NAME]), PARSER, (f"{NAME}::test_hidden",), (f"{NAME}::test_shown",),
)  # fmt: skip


@pytest.mark.slow
def test_a_call_with_an_option_is_novel_by_its_other_inputs(backend: Backend, tmp_path: Path) -> None:
    """The bug shows only where `euro`, which the tests hold, is passed: a replaced style raises `KeyError`."""
    lab = Lab("python", backend, tmp_path, BUG)
    names = program_names(package_texts(lab._grader.task))
    assert {"plain", "euro"} <= names
    assert not {"free", "costly"} & names  # only tests have these
    known = lab._grader.calibration.behaviour
    assert known is not None and known.novel
    assert all("euro" in known.calls.sources[name] for name in known.novel if ".show(" in known.calls.sources[name])
    assert any(".show(" in known.calls.sources[name] for name in known.novel)
