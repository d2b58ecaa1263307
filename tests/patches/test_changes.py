"""What a hunk changes, and which function that is in."""

import itertools

import pytest

from selfplay import patches
from selfplay.patches.changes import Change, changes
from selfplay.patches.functions import PatchedFunction, find_tests, functions, functions_at

HEAD = "diff --git a/x b/x\n--- a/x\n+++ b/x\n"


def read(hunk: str) -> list[Change]:
    (section,) = patches.parse(HEAD + hunk)
    return list(changes(section.hunks[0]))


def test_runs_of_changed_lines_are_told_apart() -> None:
    found = read("@@ -3,4 +3,4 @@\n a\n-b\n+B\n c\n-d\n-e\n+f\n+g\n"[:-3].replace("-3,4 +3,4", "-3,5 +3,4"))
    assert found == [Change(4, ("b\n",), ("B\n",)), Change(6, ("d\n", "e\n"), ("f\n",))]


def test_an_insertion_comes_before_a_line() -> None:
    assert read("@@ -3,2 +3,3 @@\n a\n+new\n b\n") == [Change(4, (), ("new\n",))]
    assert read("@@ -2,0 +3,1 @@\n+new\n") == [Change(3, (), ("new\n",))]  # git names the line before


def test_a_missing_newline_is_kept_missing() -> None:
    hunk = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"
    assert read(hunk) == [Change(1, ("a",), ("b",))]


PYTHON = """\
import x

class TestA:
    @mark
    def test_one(self):
        def inner():
            pass

    def helper(self): ...

async def test_two():
    pass
"""


def test_functions_of_python() -> None:
    found = functions("a.py", PYTHON)
    assert [(one.name, one.first, one.last) for one in found] == [
        ("TestA.test_one", 4, 7), ("TestA.test_one.inner", 6, 7), ("TestA.helper", 9, 9), ("test_two", 11, 12),
    ]  # fmt: skip
    assert functions_at(found, [7]) == {"TestA.test_one.inner"} and functions_at(found, [1]) == {""}
    innermost = {line: [f.name for f in found if f.holds(line)][-1:] or [""] for line in range(1, 30)}
    assert all(functions_at(found, [line]) == {*names} for line, names in innermost.items())
    assert functions_at(found, range(1, 30)) == {name for names in innermost.values() for name in names}
    assert [one.name for one in find_tests("a.py", PYTHON)] == ["TestA.test_one", "test_two"]


@pytest.mark.parametrize("broken", ["def f(:\n", "x = '\0'", "(" * 3000])
def test_a_broken_file_has_none(broken: str) -> None:
    assert functions("a.py", broken) == ()


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.test.js", "test('adds', () => {\n});\n  it.only(\"takes\", f)\n", ["adds", "takes"]),
        ("a.bats", '@test "counts words" {\n  true\n}\n', ["counts words"]),
        ("t.c", "static int test_sum(void)\n{\n}\nint main(void) { }\n", ["test_sum"]),
        ("run.sh", "echo hello\n", []),
    ],
)
def test_tests_of_other_languages(path: str, text: str, names: list[str]) -> None:
    found = find_tests(path, text)
    assert [one.name for one in found] == names
    assert all(one.last == other.first - 1 for one, other in itertools.pairwise(found))
    assert not found or found[-1] == PatchedFunction(names[-1], found[-1].first, len(text.split("\n")))
