"""Which tests are watched: one that is not may be cheated in."""

import pytest

from selfplay.oracle.files import TestFile
from selfplay.oracle.instrument import MOST_LIARS, with_canaries
from selfplay.oracle.shell_claims import falsified

LONG = "".join(f"def test_other_{number}():\n    assert {number} == {number}\n\n\n" for number in range(900))


def test_every_test_of_the_bug_has_a_twin_and_every_file_a_false_claim() -> None:
    files = {
        f"tests/test_{one}.py": TestFile(f"{LONG}def test_of_{one}():\n    assert [1] == [1]\n".encode())
        for one in "abcdefgh"
    }
    made = with_canaries(files, [f"tests/test_{one}.py::test_of_{one}" for one in "abcdefgh"])
    assert sorted(made.twins.values()) == [f"test_of_{one}" for one in "abcdefgh"]
    assert len(made.false_claims) == MOST_LIARS and files.keys() <= made.files.keys()
    assert all(any(f"def {word}" in made.files[path].content.decode() for word in made.false_claims) for path in files)


@pytest.mark.parametrize("text", [
    "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1)\n",
    "class TestA(Mine):\n    def test_a(self):\n        assert 1 == 1\n",
    "def test_a():\n    assert 1 == 1\n", "class TestA:\n    def test_a(self):\n        assert 1 == 1\n",
])  # fmt: skip
def test_what_is_added_runs_in_whatever_order(text: str) -> None:
    """Each kind of test gets canaries of its kind: one that passes, one that fails."""
    for _ in range(20):
        made = with_canaries({"test_a.py": TestFile(text.encode())}, ["test_a.py::test_a"])
        space: dict[str, object] = {"Mine": object}
        exec(made.files["test_a.py"].content, space)
        assert len(made.must_pass) == len(made.must_fail) == 1
        named = [name for name in space if name == f"test_{made.must_fail[0]}"]
        assert len(named) == ("unittest" not in text)


def test_a_twin_seems_to_stand_in_a_file_that_is_there() -> None:
    made = with_canaries({"test_a.py": TestFile(b"def test_a():\n    assert 1 == 1\n")}, ["test_a.py::test_a"])
    (beside,) = made.files.keys() - {"test_a.py"}
    assert f"'{beside}'" in made.files["test_a.py"].content.decode()


def test_ids_without_paths_tell_the_file_by_the_names_in_it() -> None:
    files = {
        "a.test.js": TestFile(b"test('one', () => {});\n"),
        "z.test.js": TestFile(b"// " + b"x" * 99_999 + b"\ntest('two', () => { assert.equal(1, 1); });\n"),
    }
    assert set(with_canaries(files, ["two"]).twins.values()) == {"two"}


@pytest.mark.parametrize(
    ("way", "claim", "lie"),
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
def test_claims_of_shell_tests_are_made_false(way: int, claim: str, lie: str) -> None:
    assert falsified(claim, way) == lie
