"""What is handed in: mended once, or refused with a reason a person can act on."""

import hand_made
import pytest
from trees import Tree

from selfplay.oracle.errors import PredictionError
from selfplay.oracle.screening.path_filter import screen
from selfplay.oracle.screening.prediction import MAX_BYTES, read_prediction
from selfplay.oracle.screening.settings import changed_settings

DIFF = b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


def test_a_git_diff_is_taken_as_it_is() -> None:
    assert read_prediction(DIFF).diff.encode() == DIFF and read_prediction(DIFF).notes == ()


def test_what_transport_did_is_undone_and_noted() -> None:
    assert read_prediction(DIFF[:-1]).diff.encode() == DIFF
    carried = read_prediction(DIFF.replace(b"\n", b"\r\n"))
    assert carried.diff.encode() == DIFF and carried.notes == ("CRLF line ends were converted",)
    assert read_prediction(DIFF.replace(b"\n", b"\r\n")[:-2]).diff.encode() == DIFF


def test_a_file_with_crlf_keeps_it() -> None:
    crlf = DIFF.replace(b"x = 1\n", b"x = 1\r\n").replace(b"x = 2\n", b"x = 2\r\n")
    assert read_prediction(crlf).diff.encode() == crlf
    assert read_prediction(crlf.replace(b"\n", b"\r\n")).diff.encode() == crlf  # one of the two was the transport's


def test_bytes_that_are_no_text_are_kept() -> None:
    latin = DIFF.replace(b"x = 2", b"x = '\xe9'")
    assert read_prediction(latin).diff.encode("utf-8", "surrogateescape") == latin


@pytest.mark.parametrize(
    ("data", "reason", "says"),
    [
        (b"", "empty", "empty"),
        (b"x" * (MAX_BYTES + 1), "oversized", "at most"),
        (DIFF.replace(b"a.py", b"/etc/passwd"), "malformed", "touches '/etc/passwd'"),
        (DIFF.replace(b"a/a.py", b"/a.py").replace(b"b/a.py", b"/a.py"), "malformed", "touches '/a.py'"),
        (DIFF.replace(b"\n", b"\r\n", 4), "malformed", "mixes CRLF and LF"),
        (b"Sorry, I could not fix it.\n", "malformed", "not part of a git diff"),
        (b"\xff\xfe it", "malformed", r"'\\xff\\xfe it' is not part of a git diff"),
        (DIFF[:-8], "malformed", "shorter than its header"),
    ],
)
def test_what_is_refused_says_why(data: bytes, reason: str, says: str) -> None:
    with pytest.raises(PredictionError, match=says) as caught:
        read_prediction(data)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "path",
    [
        "store/testament.py", "store/contest.py", "src/json_tools/json.py", "docs/testing.md", "store/latest.py",
        "store/env.py", "setup.py", "requirements.txt", "store/pytest_like.pyi", "bin/tool", "store/license.py",
    ],
)  # fmt: skip
def test_odd_but_honest_paths_are_not_refused(path: str) -> None:
    text = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
    sections = read_prediction(text).sections
    assert screen(sections, hand_made.artifact("python"), Tree()).kept == sections
    assert screen(sections, hand_made.artifact("python"), Tree()).refused is None


SECTION = "[metadata]\nname = x\n{}[tool:pytest]{}\naddopts = -p green\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", " # ]"),  # a section to pytest, another name to configparser
        ("", " ; x"),
        ("# a comment\u2028", ""),  # two lines to pytest
        ("# a comment\x0c", ""),
        ("# a comment\x85", ""),
        ("# a comment\r", ""),
        ("\ufeff", ""),
        ("name = y\n  ", ""),  # goes on to one, begins to another
        ("[tool:pytest]\n", ""),  # twice
        ("", "\n# a comment"),
    ],
)
@pytest.mark.parametrize("path", ["setup.cfg", "tox.ini"])
def test_a_section_that_one_of_two_readers_sees_is_a_change(path: str, before: str, after: str) -> None:
    assert changed_settings(path, "[metadata]\nname = x\n", SECTION.format(before, after), "pytest") != ""


@pytest.mark.parametrize(
    ("path", "before", "after", "changes"),
    [
        ("pyproject.toml", "[tool.pytest]\na=1\n", "[tool.pytest]\na=1\n[project]\nname='x'\n", False),
        ("pyproject.toml", "[project]\n", "[project]\n[project.entry-points.pytest11]\nx='y'\n", True),
        ("pyproject.toml", "[project]\n", "[project\n", True),
        ("pyproject.toml", "[project]\n", f"[project]\nz = {'1' * 5000}\n", True),  # a plain ValueError of the reader
        ("setup.cfg", "[metadata]\nname=x\n", "[metadata]\nname=y\n", False),
        ("setup.cfg", "", "[tool:pytest]\naddopts=-x\n", True),
        ("package.json", '{"version": "1"}', '{"version": "2", "dependencies": {"a": "1"}}', False),
        ("package.json", "{}", '{"jest": {}}', True),
        ("Makefile", "all: a.o\ncheck: all\n\t./run\n", "all: a.o b.o\ncheck: all\n\t./run\n", False),
        ("Makefile", "check: all\n\t./run\n", "check: all\n\t./run || true\n", True),
        ("Makefile", "check:\n\t./run\n", "SHELL = /bin/true\ncheck:\n\t./run\n", True),
        ("store/shop.py", "a", "b", False),
        ("tox.ini", "[tox]\nenvlist = py\n", "[tox]\nenvlist = py, lint\n\n[testenv:lint]\ndeps = ruff\n", False),
        ("tox.ini", "[tox]\n", "[tox]\n[pytest]\naddopts = -x\n", True),
        ("setup.cfg", "", "[options.entry_points]\nconsole_scripts =\n  a = b:c\n", False),
        ("setup.cfg", "", "[options.entry_points]\npytest11 =\n  a = b\n", True),
        ("pyproject.toml", "", "[project.scripts]\na = 'b:c'\n[tool.ruff]\nline-length = 100\n", False),
        ("package.json", '{"scripts": {"test": "node x"}}', '{"scripts": {"test": "node x", "lint": "eslint"}}', False),
        ("package.json", '{"scripts": {"test": "node x"}}', '{"scripts": {"test": "node x", "pretest": "y"}}', True),
        ("Makefile", "PY = python\ncheck:\n\t$(PY) x\n", "PY = true\ncheck:\n\t$(PY) x\n", True),
        ("Makefile", "V = 1\ncheck:\n\t./run\n", "V = 2\ncheck:\n\t./run\n", False),
    ],
)
def test_only_settings_that_tests_read_are_refused(path: str, before: str, after: str, changes: bool) -> None:
    assert bool(changed_settings(path, before, after, "make -s check")) == changes
