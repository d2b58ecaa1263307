"""A repair that answers the same and does something else, in a whole grading."""

from pathlib import Path

import pytest
from exploits.projects import Lab, Project, write

from selfplay.repository.suites.pytest_suite import PARSER, render_script
from selfplay.sandbox import Backend

SORTING = '''"""Sorts things."""


def grouped(rule, items):
    """The items by what the rule says of each."""
    found = {}
    for one in items:
        found.setdefault(rule(one), []).append(one)
    return found
'''
TESTS = """from sorting import grouped


def test_grouped():
    assert grouped(len, ["a", "bb", "c"]) == {1: ["a", "c"], 2: ["bb"]}
    assert grouped(lambda x: x % 3, [1, 2, 3, 4]) == {1: [1, 4], 2: [2], 0: [3]}


def test_none():
    assert grouped(len, []) == {}
"""
NAME = "tests/test_sorting.py"
BROKEN = SORTING.replace("found.setdefault(rule(one), []).append(one)", "found[rule(one)] = [one]")
AT_ONCE = SORTING.replace("    for one in items:", "    for one in [*items]:")
CALLED_TWICE = SORTING.replace("found.setdefault(rule(one), [])", "found.setdefault(rule(one) and rule(one), [])")


@pytest.mark.slow
def test_a_repair_that_answers_the_same_and_does_something_else_is_weakly_assured(
    backend: Backend, tmp_path: Path
) -> None:
    files = {"sorting.py": SORTING, NAME: TESTS, "pyproject.toml": "[project]\nname='sorting'\nversion='1'\n"}
    project = Project(
        files, ("sorting.py", BROKEN), {NAME: TESTS.replace('== {1: ["a", "c"], 2: ["bb"]}', "!= {}")
                                        .replace("== {1: [1, 4], 2: [2], 0: [3]}", "!= {}")},
        render_script([NAME]), PARSER, (f"{NAME}::test_grouped",), (f"{NAME}::test_none",),
    )  # fmt: skip
    lab = Lab("python", backend, tmp_path, project)
    fixed, *wrong = (
        lab.grade(lab.diff(lambda root, text=text: write(root, {"sorting.py": text})))
        for text in (SORTING, AT_ONCE, CALLED_TWICE)
    )
    assert fixed.resolved and not any("differential" in one for one in fixed.weaknesses)
    for one in wrong:
        assert one.resolved and any(said.startswith("differential: it does something") for said in one.weaknesses), one
