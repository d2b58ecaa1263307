"""What the oracle makes of tests of models and repositories costs no more than in proportion to their length."""

import pytest
from oracle.proportion import Step, in_proportion
from table_rows import long_rows

from selfplay.artifact import Artifact
from selfplay.oracle.rewriting import javascript_claims, javascript_tests, python_tests, shell_claims
from selfplay.oracle.rewriting.instrument import holds_tests, impossible, with_canaries
from selfplay.oracle.rewriting.javascript_code import JavaScriptCalls
from selfplay.oracle.specification import hidden_tests, specification
from selfplay.workbench import ParserError, read_outcomes
from selfplay.workbench.files import TestFile

ARTIFACT = Artifact("bash run.sh\n", ("tests/test_a.py",), "", "", "")
WORDS = ["one plain word here", "another plain word here"]


def calls(text: str) -> None:
    known = JavaScriptCalls(text)
    for at, sign in enumerate(text):
        if sign in "([{":
            known.at(at)


def canaries(text: str) -> None:
    javascript_tests.canaries("a.test.js", text, WORDS, ["a"], (8, 8))


JAVASCRIPT: dict[str, Step] = {
    "calls": calls,
    "claims": lambda text: javascript_claims.falsified(text, "o", 1),
    "canaries": canaries,
    "impossible": javascript_tests.impossible,
    "tests in it": javascript_tests.holds_tests,
}
CODE = (
    "t(", "t(t(", "(", "()", "`${", "'\\", "\\'", '"', "'", "t('", "(/[", "/", "/*", ".to.a", ".to.",
    "it.", "it .", "it", "test('a', ", "test('a', {", "\ntest(`a`", "\ntest('a', () => {", "\n", " ", "\t\n",
    "expect(a).toBe(", ").not.", "assert.equal(1, 1);\n", "import a;\n", ",(", "a ", "`", "$", "\\",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("step", JAVASCRIPT)
@pytest.mark.parametrize("atom", long_rows(CODE), ids=repr)
def test_javascript(step: str, atom: str) -> None:
    assert in_proportion(JAVASCRIPT[step], atom)


SHELL = ("[ a ", "[", "test ", "[[ ", "[ a = ", "a\n", " ", '[ "', "[ 1 -eq 1 ];", "while ", "9", "[ x -eq 9", "\n")


@pytest.mark.parametrize("atom", SHELL, ids=repr)
def test_shell(atom: str) -> None:
    assert in_proportion(lambda text: [shell_claims.falsified(text, one) for one in range(4)], atom)
    assert in_proportion(lambda text: [shell_claims.falsified(text, one) for one in range(4)], atom, ("[ a = ", "\n"))


PYTHON = (
    "def test_a():\n    assert 1 == 1\n\n", "class TestA:\n    def test_a(self):\n        assert 1 == 1\n", "def ",
    "if x:\n    def test_b(): pass\n", "test_", "(", "    ", "x = 1\n", "\n", "'", "# test_a\n",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("atom", PYTHON, ids=repr)
def test_python(atom: str) -> None:
    ids = [f"tests/test_a.py::test_{number}" for number in range(100)] + ["tests/test_a.py::test_a"]

    def step(text: str) -> None:
        python_tests.canaries("tests/test_a.py", text, WORDS, ids, (8, 2), "test_b.py")
        python_tests.impossible("tests/test_a.py", text, ids)

    assert in_proportion(step, atom)


def numbered(form: str, count: int) -> str:
    return "".join(form.format(number) for number in range(count))


def test_many_tests_with_as_many_ids() -> None:
    """A test of the bug each: every function was compared with every id."""

    def step(text: str) -> None:
        count = len(text)
        content = numbered("def test_{0}():\n    assert {0} == {0}\n\n", count)
        ids = [f"tests/test_a.py::test_{number}" for number in range(count)]
        files = {"tests/test_a.py": TestFile(content.encode())}
        with_canaries(files, ids)
        impossible(files, ids)

    assert in_proportion(step, "x", shortest=200)


def test_many_branches_in_a_row_are_no_depth() -> None:
    text = "if a: pass\n" + "elif a: pass\n" * 2000 + "def test_a():\n    assert 1 == 1\n"
    files = {"test_a.py": TestFile(text.encode())}
    with_canaries(files, ["test_a.py::test_a"])
    impossible(files, ["test_a.py::test_a"])


FILES = ("def ", "test(", "it.", "it ", "describe", "def  test", " ")


@pytest.mark.parametrize("atom", FILES, ids=repr)
@pytest.mark.parametrize("path", ["test_a.py", "a.test.js", "a.sh"])
def test_is_it_a_file_of_tests(path: str, atom: str) -> None:
    assert in_proportion(lambda text: holds_tests(path, TestFile(text.encode())), atom)


def test_a_specification_with_many_tests() -> None:
    def step(text: str) -> None:
        count = len(text)
        whole = numbered("def test_{0}():\n    assert {0}\n\n\n", count)
        lines = whole.splitlines(keepends=True)
        head = f"diff --git a/t.py b/t.py\n--- a/t.py\n+++ b/t.py\n@@ -1,{len(lines)} +1,{len(lines) - count} @@\n"
        body = "".join(f"-{line}" if "assert" in line else f" {line}" for line in lines)
        ids = [f"t.py::test_{number}" for number in range(count)]
        hidden = hidden_tests(head + body, {"t.py": whole}, ids, 0.5, "bug")
        assert len(hidden) == count // 2
        specification(head + body, {"t.py": whole}, hidden)

    assert in_proportion(step, "x", shortest=100)


def test_a_parser_that_prints_a_name_twice() -> None:
    def step(text: str) -> None:
        names = ", ".join(f'"t{number}": "passed"' for number in range(len(text)))
        with pytest.raises(ParserError, match="occurs twice"):
            read_outcomes(f'{{{names}, "t{len(text) - 1}": "passed"}}'.encode())

    assert in_proportion(step, "x")
