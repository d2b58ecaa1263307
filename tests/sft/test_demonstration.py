"""A known bug said in messages: the edits must make it, and nothing that cannot be said may be said wrongly."""

import json
import subprocess
from pathlib import Path

import pytest

from selfplay.agent.actions import Call
from selfplay.agent.call_format import parse
from selfplay.agent.tools import SSR_TOOLS
from selfplay.artifact import Artifact
from selfplay.repository import Suite
from selfplay.sft.demonstration import FAREWELL, Undemonstrable, demonstration, parser, repair
from selfplay.sft.reproduction import Reproduction

SUITE = Suite(("tests/test_a.py",), {"tests/test_a.py::test_a": 0.1}, failing=("tests/test_a.py::test_odd[a b]",))
SAME = "    value = 1\n    return value\n\n\n"
BEFORE = f"def a():\n{SAME}def b():\n{SAME}def c():\n{SAME}"
AFTER = BEFORE.replace("def b():\n    value = 1\n", "def b():\n    value = 2\n    more = 3\n").replace("def c", "def d")
TESTS = "def test_a():\n    assert 1\n\n\ndef test_b():\n    assert 2\n"


def diff(tmp_path: Path, before: str, after: str, path: str, context: int = 3) -> str:
    """Git's own diff of one file."""
    for name, text in (("a", before), ("b", after)):
        (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / path).write_bytes(text.encode())
    command = ["git", "diff", "--no-index", "--no-prefix", f"-U{context}", f"a/{path}", f"b/{path}"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout


def artifact(bug: str, weakening: str) -> Artifact:
    return Artifact("script", "parser", ("tests/test_a.py",), bug, weakening)


@pytest.mark.parametrize("context", [0, 1, 3])
def test_the_edits_make_the_bug(tmp_path: Path, context: int) -> None:
    """Each of two places, whose lines stand three times in the file, is named with as much context as it needs."""
    bug = diff(tmp_path, BEFORE, AFTER, "src.py", context)
    weakening = diff(tmp_path, TESTS, TESTS.replace("    assert 2", "    pass"), "tests/test_a.py")
    known = {"src.py": BEFORE, "tests/test_a.py": TESTS}
    discover, plant, weaken = demonstration(SUITE, artifact(bug, weakening), known.get, SSR_TOOLS)
    for message in (*plant, *weaken):
        call = parse(message, SSR_TOOLS)
        if call.tool == "edit":  # type: ignore[union-attr]
            path, old, new = (call.arguments[name] for name in ("path", "old", "new"))  # type: ignore[union-attr]
            assert known[path].count(old) == 1
            known[path] = known[path].replace(old, new)
    assert known == {"src.py": AFTER, "tests/test_a.py": TESTS.replace("    assert 2", "    pass")}
    assert "--deselect 'tests/test_a.py::test_odd[a b]'" in "".join(discover)
    assert [stage[-1].split()[-2:] for stage in (plant, weaken)] == [["submit>", "</tool>"]] * 2


def test_a_file_that_comes_and_one_that_goes(tmp_path: Path) -> None:
    bug = (
        "diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1\n"
        "diff --git a/old.py b/old.py\ndeleted file mode 100644\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-y = 2\n"
    )
    _, plant, _ = demonstration(SUITE, artifact(bug, ""), {"old.py": "y = 2\n"}.get, SSR_TOOLS)
    assert "<tool: create>\nnew.py\nx = 1\n</tool>" in plant[0] and "git rm -q -- old.py" in plant[1]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("x = 1\n", "x = 2", "src.py does not end with a newline"),
        ("=======\nx = 1\n", "======\nx = 1\n", "a call of edit that the textual format cannot write"),
    ],
)
def test_what_no_edit_can_say(tmp_path: Path, before: str, after: str, said: str) -> None:
    bug = artifact(diff(tmp_path, before, after, "src.py"), "")
    with pytest.raises(Undemonstrable, match=said):
        demonstration(SUITE, bug, {"src.py": before}.get, SSR_TOOLS)


def test_a_new_file_without_a_last_line_end_is_not_said_with_one() -> None:
    bug = (
        "diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1\n"
        "\\ No newline at end of file\n"
    )
    with pytest.raises(Undemonstrable, match=r"new.py does not end with a newline"):
        demonstration(SUITE, artifact(bug, ""), {}.get, SSR_TOOLS)


@pytest.mark.parametrize("name", ["<think>.py", "<tool: bash>.py"])
def test_a_file_named_like_a_tag(tmp_path: Path, name: str) -> None:
    bug = artifact(diff(tmp_path, "x = 1\n", "x = 2\n", name), "")
    with pytest.raises(Undemonstrable, match="hides the call after it"):
        demonstration(SUITE, bug, {name: "x = 1\n"}.get, SSR_TOOLS)


def test_a_rename_is_no_edit() -> None:
    bug = "diff --git a/a.py b/b.py\nsimilarity index 100%\nrename from a.py\nrename to b.py\n"
    with pytest.raises(Undemonstrable, match=r"b.py is not changed by edits"):
        demonstration(SUITE, artifact(bug, ""), {"a.py": ""}.get, SSR_TOOLS)


def test_a_diff_of_another_file(tmp_path: Path) -> None:
    bug = artifact(diff(tmp_path, "x = 1\n", "x = 2\n", "src.py"), "")
    with pytest.raises(Undemonstrable, match="does not fit"):
        demonstration(SUITE, bug, {"src.py": "z = 1\n"}.get, SSR_TOOLS)
    with pytest.raises(Undemonstrable, match="cannot be read"):
        demonstration(SUITE, bug, {}.get, SSR_TOOLS)
    with pytest.raises(Undemonstrable, match="the user's command"):
        demonstration(Suite((), {}, command="make test"), bug, {}.get, SSR_TOOLS)
    with pytest.raises(Undemonstrable, match="its tests are run by mocha; only pytest is supported"):
        demonstration(Suite((), {}, runner="mocha"), bug, {}.get, SSR_TOOLS)


def test_the_parser_reads_pytest() -> None:
    log = "..\nPASSED t.py::a[x - y]\nFAILED t.py::b - Error: no - really\nERROR t.py::C - Key\nXPASS t.py::d\n"

    def parsed(*left_out: str) -> object:
        command = ["python3", "-c", parser(left_out)]
        return json.loads(subprocess.run(command, input=log, capture_output=True, text=True, check=True).stdout)

    everything = {"t.py::a[x - y]": "passed", "t.py::b": "failed", "t.py::C": "failed"}
    assert parsed() == everything
    assert parsed("t.py::C", "t.py::'e'") == {test: everything[test] for test in ("t.py::a[x - y]", "t.py::b")}


def test_tests_and_code_are_shown_by_the_names_of_their_functions(tmp_path: Path) -> None:
    """A model is told the names of the failing tests, which use the function, and no line of any file."""
    before = "import m\n\n\ndef test_one():\n    assert m.f(1) == 1\n    assert m.f(2) == 2\n\n\n" + TESTS
    weakening = diff(tmp_path, before, before.replace("    assert m.f(2) == 2\n", ""), "tests/test_m.py")
    bug = diff(tmp_path, "def f(x):\n    return x\n", "def f(x):\n    return 1\n", "m.py")
    known = {"tests/test_m.py": before, "m.py": "def f(x):\n    return x\n"}
    _, plant, weaken = demonstration(SUITE, artifact(bug, weakening), known.get, SSR_TOOLS)
    assert "grep -A 10 'def test_one(' -- tests/test_m.py" in weaken[0]
    assert "grep -A 10 'def f(' -- m.py" in plant[0]


def test_a_place_far_below_its_function_is_shown_by_lines_after_the_line_of_the_function(tmp_path: Path) -> None:
    """The function begins at line 2; its last line is 61, it is shown with twelve around: 49 to 73."""
    long = "\ndef f(x):\n" + "".join(f"    x += {at}\n" for at in range(58)) + "    return x\n"
    bug = diff(tmp_path, long, long.replace("return x", "return 1"), "m.py")
    _, plant, _ = demonstration(SUITE, artifact(bug, ""), {"m.py": long}.get, SSR_TOOLS)
    assert "grep -n 'def f(' -- m.py" in plant[0] and "sed -n '49,73p' -- m.py" in plant[1]


def test_code_above_every_function_is_shown_by_lines(tmp_path: Path) -> None:
    text = "A = 1\n\n\ndef f(x):\n    return A\n"
    bug = diff(tmp_path, text, text.replace("A = 1", "A = 2"), "m.py")
    _, plant, _ = demonstration(SUITE, artifact(bug, ""), {"m.py": text}.get, SSR_TOOLS)
    assert "sed -n '1,13p' -- m.py" in plant[0]


def test_a_repair_looks_reads_edits_hands_in_and_ends(tmp_path: Path) -> None:
    """What the bug changed from `x` to `1` is changed back, in the file as the solver finds it."""
    bug = diff(tmp_path, "def f(x):\n    return x\n", "def f(x):\n    return 1\n", "m.py")
    said = repair(bug, {"m.py": "def f(x):\n    return 1\n"}.get, SSR_TOOLS)
    calls = [parse(message, SSR_TOOLS) for message in said]
    assert [call.tool for call in calls[:-1] if isinstance(call, Call)] == ["bash", "bash", "edit", "submit"]
    edit = calls[2]
    assert isinstance(edit, Call) and edit.arguments["new"] == "    return x"
    assert "git grep -n 'def f(' | head -20" in said[0] and said[-1] == FAREWELL
    above = diff(tmp_path / "other", "A = 1\n", "A = 2\n", "n.py")
    assert "git ls-files '*.py'" in repair(above, {"n.py": "A = 2\n"}.get, SSR_TOOLS)[0]
    with pytest.raises(Undemonstrable, match="does not fit"):
        repair(bug, {"m.py": "def f(x):\n    return 2\n"}.get, SSR_TOOLS)


@pytest.mark.parametrize("restore", ["git apply x", ""])
def test_a_repair_sees_the_bug_before_it_edits_and_that_it_is_gone_after(tmp_path: Path, restore: str) -> None:
    bug = diff(tmp_path, "x = 1\n", "x = 2\n", "m.py")
    said = repair(bug, {"m.py": "x = 2\n"}.get, SSR_TOOLS, Reproduction(restore, "pytest"))
    calls = [call for message in said if isinstance(call := parse(message, SSR_TOOLS), Call)]
    done = [call.arguments.get("command", call.tool).partition(" ")[0] for call in calls]
    put_back = ["git"] if restore else []
    assert done == ["git", *put_back, "pytest", "sed", "edit", "pytest", "submit"]
