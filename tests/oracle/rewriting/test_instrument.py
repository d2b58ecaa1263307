"""Which tests are watched: one that is not may be cheated in."""

import unittest
from typing import Any

import pytest

from selfplay.oracle.rewriting.instrument import MOST_FALSE, impossible, with_canaries
from selfplay.oracle.rewriting.shell_claims import falsified
from selfplay.workbench.files import TestFile

LONG = "".join(f"def test_other_{number}():\n    assert {number} == {number}\n\n\n" for number in range(900))


@pytest.mark.slow
def test_every_test_of_the_bug_has_a_copy_and_every_file_a_false_claim() -> None:
    files = {
        f"tests/test_{one}.py": TestFile(f"{LONG}def test_of_{one}():\n    assert [1] == [1]\n".encode())
        for one in "abcdefgh"
    }
    made = with_canaries(files, [f"tests/test_{one}.py::test_of_{one}" for one in "abcdefgh"])
    assert sorted(made.copies.values()) == [f"test_of_{one}" for one in "abcdefgh"]
    assert len(made.false_claims) == MOST_FALSE and files.keys() <= made.files.keys()
    assert all(any(f"def {word}" in made.files[path].content.decode() for word in made.false_claims) for path in files)


@pytest.mark.parametrize("text", [
    "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1)\n",
    "class TestA(Mine):\n    def test_a(self):\n        assert 1 == 1\n",
    "def test_a():\n    assert 1 == 1\n", "class TestA:\n    def test_a(self):\n        assert 1 == 1\n",
])  # fmt: skip
def test_what_is_added_runs_in_any_order(text: str) -> None:
    """One canary passes, one fails."""
    for _ in range(20):
        made = with_canaries({"test_a.py": TestFile(text.encode())}, ["test_a.py::test_a"])
        space: dict[str, object] = {"Mine": object}
        exec(made.files["test_a.py"].content, space)
        assert len(made.must_pass) == len(made.must_fail) == 1


CLASS = "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1)\n"


@pytest.mark.parametrize("content", [
    b"\xef\xbb\xbf" + CLASS.encode(),
    b"# -*- coding: latin-1 -*-\nX = '\xe9'\n" + CLASS.encode(),
    CLASS.replace("class", "\x0c\n\x0c\nclass").encode() + b"\x0c\nif __name__ == '__main__':\n    y = [\n1]\n",
    f"X = '\u2028\u2028'\n{CLASS}\n\nif __name__ == '__main__':\n    y = [\n1]\n".encode(),
    CLASS.replace("1, 1", "'x', '''\nx'''[1:]").encode(),  # a string that begins left of its function
    b"import unittest\nif __name__ == '__main__':\n    x = 1\n" + CLASS.encode(),
    CLASS.replace("\n", "\r\n").encode(),
], ids=["mark", "latin-1", "form feed", "line separator", "string", "early main", "crlf"])  # fmt: skip
def test_odd_files_have_canaries_copies_and_false_claims(content: bytes) -> None:
    """Each of these lost some or all of them once, silently: the layers were then unavailable for the whole suite."""
    made = with_canaries({"test_a.py": TestFile(content)}, ["test_a.py::TestA::test_a"])
    space: dict[str, object] = {}
    exec(made.files["test_a.py"].content, space)
    (one,) = made.copies
    assert {one, *made.false_claims} <= vars(space["TestA"]).keys() and made.false_claims and made.must_fail


def test_tests_of_classes_in_classes_have_copies_and_those_of_missing_classes_harm_nothing() -> None:
    text = b"class TestO:\n    class TestI:\n        def test_a(self):\n            assert 1 == 1\n"
    text += b"if 0:\n    class TestN:\n        def test_n(self):\n            assert 1 == 1\n"
    made = with_canaries({"test_a.py": TestFile(text)}, ["test_a.py::TestO::TestI::test_a", "test_a.py::TestN::test_n"])
    space: dict[str, Any] = {}
    exec(made.files["test_a.py"].content, space)
    copies = {copied: one for one, copied in made.copies.items()}
    assert copies["test_a"] in vars(space["TestO"].TestI) and copies["test_n"] not in space


def test_ids_may_name_files_from_a_folder_of_the_tree() -> None:
    """As those of `cd backend && pytest` do. Such a file was once taken for one without an F2P test."""
    files = {f"{folder}/tests/test_a.py": TestFile(CLASS.encode()) for folder in ("backend", "front")}
    small = {f"backend/tests/test_{n}.py": TestFile(b"def test_x():\n    assert 1\n") for n in range(9)}
    made = with_canaries({**files, **small}, ["tests/test_a.py::TestA::test_a"])
    assert made.copies and made.false_claims and files.keys() <= made.files.keys()
    other = with_canaries(files, ["my_tests/test_a.py::TestA::test_a"])
    assert not other.copies and not other.false_claims


def test_a_file_that_is_too_deep_to_be_written_is_left() -> None:
    """It is not read at all: what copies a tree or writes it calls itself for each level."""
    text = (CLASS + "        x = 1" + " + 1" * 500 + "\n").encode()
    made = with_canaries({"test_a.py": TestFile(text)}, ["test_a.py::TestA::test_a"])
    assert not made.files and not made.must_fail
    assert impossible({"test_a.py": TestFile(text)}, ["test_a.py::TestA::test_a"])["test_a.py"].content == text


@pytest.mark.parametrize(("text", "owned"), [
    ("def test_a():\n    assert 1 == 1\n", {""}), ("class TestA:\n    def test_a(self):\n        pass\n", {"plain"}),
    (CLASS, {"case"}), ("class TestA(Mine):\n    def test_a(self):\n        pass\n", {"plain", "case"}),
    ("class CheckA:\n    def test_a(self):\n        pass\n", {""}),
])  # fmt: skip
def test_canaries_are_of_the_kinds_a_file_holds(text: str, owned: set[str]) -> None:
    """What makes a method of a plain class pass need not touch a function, nor a method of unittest's."""
    made = with_canaries({"test_a.py": TestFile(text.encode())}, ["test_b.py::test_b"])
    space: dict[str, object] = {"Mine": object}
    exec(made.files["test_a.py"].content, space)
    name = f"test_{made.must_fail[0]}"
    classes = [one for one in space.values() if isinstance(one, type) and name in vars(one)]
    found = {"case" if issubclass(one, unittest.TestCase) else "plain" for one in classes}
    assert found | ({""} if name in space else set()) == owned


def test_a_copy_seems_to_stand_in_a_file_that_is_there() -> None:
    made = with_canaries({"test_a.py": TestFile(b"def test_a():\n    assert 1 == 1\n")}, ["test_a.py::test_a"])
    (beside,) = made.files.keys() - {"test_a.py"}
    assert f"'{beside}'" in made.files["test_a.py"].content.decode()


def test_ids_without_paths_tell_the_file_by_the_names_in_it() -> None:
    files = {
        "a.test.js": TestFile(b"test('one', () => {});\n"),
        "z.test.js": TestFile(b"// " + b"x" * 99_999 + b"\ntest('two', () => { assert.equal(1, 1); });\n"),
    }
    assert set(with_canaries(files, ["two"]).copies.values()) == {"two"}


@pytest.mark.parametrize(
    ("variant", "claim", "false"),
    [
        (0, '[ "$(f)" -eq 3 ] || exit 1', '[ "$(f)" -ne 3 ] || exit 1'),
        (1, '[ "$(f)" -eq 3 ] || exit 1', '[ "$(f)" -eq 4 ] || exit 1'),
        (2, '[ "$(f)" = "abc" ]', '[ "$(f)" = "ab" ]'),
        (1, "[[ $x == ab ]] && echo ok", "[[ $x == abx ]] && echo ok"),
        (0, "test $x != 1", "test $x = 1"),
        (1, "test $x != 1", ""),
        (0, "while [ $x -ne 1 ]; do", ""),
    ],
)
def test_claims_of_shell_tests_are_made_false(variant: int, claim: str, false: str) -> None:
    assert falsified(claim, variant) == false
