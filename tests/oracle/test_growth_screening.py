"""Screening of predictions, their paths and settings, costs no more than in proportion to their length."""

from pathlib import Path

import pytest
from oracle.proportion import in_proportion
from table_rows import long_rows
from trees import Tree

from selfplay import patches
from selfplay.artifact import Artifact
from selfplay.oracle.originals import Original
from selfplay.oracle.screening.path_filter import screen
from selfplay.oracle.screening.paths import plain
from selfplay.oracle.screening.settings import changed_settings
from selfplay.sandbox import World

SETTINGS = (
    "[a]\nb = 1\n", " ", "a" + " " * 40_000, "a = [", "[", "[[a]]\n", "a.", "[a.b]\n", "{", '"', "\\", "a:\n\tb\n", "=",
    "a: b c d\n", "a\n", "test:\n\ta\n\n", "export a\n", "a" + "\t" * 90, '{"a":', "[a", "#\n", "'''", "\x0b",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("atom", long_rows(SETTINGS), ids=lambda atom: repr(atom[:20]))
@pytest.mark.parametrize("path", ["pyproject.toml", "setup.cfg", "tox.ini", "package.json", "Makefile"])
def test_settings(path: str, atom: str) -> None:
    """And whatever they hold, they are compared or said to be unreadable."""
    for head in ("", "[metadata]\n"):
        assert in_proportion(lambda text: changed_settings(path, "", text, "make test"), atom, (head, ""))


@pytest.mark.parametrize("text", ["tool = 1\n", "project = 1\n", "tool.pytest = 1\n", "a = " + "[" * 5000, "a." * 5000])
def test_odd_settings_are_no_errors_of_ours(text: str) -> None:
    assert isinstance(changed_settings("pyproject.toml", "[project]\nname = 'a'\n", text, ""), str)
    assert changed_settings("package.json", "{}", "[" * 100_000, "") != ""


def test_paths_of_a_prediction() -> None:
    section = "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x\n"

    def step(text: str) -> None:
        count = len(text)
        bug = "".join(section.format(f"pkg/m{number}.py") for number in range(count))
        tests = tuple(f"t{number}/test_a.py" for number in range(count))  # and each folder may be one of imports
        script = " ".join(tests)
        sections = patches.parse("".join(section.format(f"other/n{number}.py") for number in range(count)))
        screen(sections, Artifact(script, tests, "", bug, ""), Tree())

    assert in_proportion(step, "x", shortest=100)


def test_what_is_there_beside_what_a_bug_changes(tmp_path: Path) -> None:
    section = "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x\n"

    def step(text: str) -> None:
        bug = "".join(section.format(f"pkg/m{number}/a.py") for number in range(len(text)))
        files = Original(World(tree=(tmp_path,)), [bug])
        assert files.there("pkg/m0") and not any(files.there(f"other/n{number}") for number in range(len(text)))

    assert in_proportion(step, "x", shortest=100)


@pytest.mark.parametrize("atom", ["\u0301\u0316", "a/", "a", ".", "\u00df"], ids=repr)
def test_a_path_as_a_file_system_compares_it(atom: str) -> None:
    assert in_proportion(plain, atom)
