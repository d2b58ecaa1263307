"""What the oracle makes of texts of models and repositories costs no more than in proportion to their length.

Each text is made of one atom again and again, at a length and at twice that: a step whose cost is the square of the
length takes four times as long, one in proportion twice as long.
"""

import gzip
import time
import zlib
from collections.abc import Callable

import pytest
from linear_time import grows as families_that_grow
from searching import SEARCH, search
from table_rows import long_rows
from trees import Tree

from selfplay import patches
from selfplay.artifact import Artifact
from selfplay.oracle.leak_audit.needles import Needles, needles
from selfplay.oracle.rewriting import javascript_claims, javascript_tests, python_tests, shell_claims
from selfplay.oracle.rewriting.instrument import holds_tests, impossible, with_canaries
from selfplay.oracle.rewriting.javascript_code import JavaScriptCalls
from selfplay.oracle.screening.path_filter import screen
from selfplay.oracle.screening.paths import plain
from selfplay.oracle.screening.settings import changed_settings
from selfplay.oracle.specification import hidden_tests, specification
from selfplay.oracle.world import Task
from selfplay.plain_text import encode
from selfplay.sandbox import World
from selfplay.workbench import ParserError, read_outcomes
from selfplay.workbench.files import TestFile

MOST = 3.0
"""Times as long for twice the text: 2 in proportion, 4 for a square; between them what a busy machine adds."""
LEAST_SECONDS = 0.005
"""A run must take so long to be measured, or the text is as long as it gets here."""
LONGEST = 100_000
ARTIFACT = Artifact("bash run.sh\n", ("tests/test_a.py",), "", "", "")
WORDS = ["one plain word here", "another plain word here"]
Step = Callable[[str], object]


def seconds(step: Step, text: str) -> float:
    """The least of three times, which is the one with the least noise."""
    found = []
    for _ in range(3):
        began = time.process_time()
        step(text)
        found.append(time.process_time() - began)
    return min(found)


def grows(step: Step, atom: str, around: tuple[str, str] = ("", ""), shortest: int = 2_000) -> float:
    """How much longer a step takes for twice the text, at the shortest length that can be measured."""
    length = shortest
    while True:
        texts = [around[0] + atom * (size // len(atom)) + around[1] for size in (length, 2 * length)]
        once, twice = seconds(step, texts[0]), seconds(step, texts[1])
        if once >= LEAST_SECONDS or length >= LONGEST:
            return twice / max(once, LEAST_SECONDS / 2)
        length *= 2


def in_proportion(step: Step, atom: str, around: tuple[str, str] = ("", ""), shortest: int = 2_000) -> bool:
    """Measured again when it seems not so: something else may have run."""
    return any(grows(step, atom, around, shortest) <= MOST for _ in range(3))


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
        tests = tuple(f"tests/test_{number}.py" for number in range(count))
        script = " ".join(tests)
        sections = patches.parse("".join(section.format(f"other/n{number}.py") for number in range(count)))
        screen(sections, Artifact(script, tests, "", bug, ""), Tree())

    assert in_proportion(step, "x", shortest=100)


@pytest.mark.parametrize("atom", ["\u0301\u0316", "a/", "a", ".", "\u00df"], ids=repr)
def test_a_path_as_a_file_system_compares_it(atom: str) -> None:
    assert in_proportion(plain, atom)


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


LOOKED_AT = (
    "\x78\x9c", "PK\x03\x04", "\x1f\x8b\x08", "BZh91AY&SY", "\xfd7zXZ\0", "\x28\xb5\x2f\xfd", "<~", "~>", "%41", "\\",
    "\\x41", "&#65;", "&amp;", "=3D", "=\n", "QUJD", "QUJDREVGR0hJSktM\n", "GEZDGNBVGY3TQOJQ ", "0x41, ", "65, ",
    "M" + "A" * 60 + "\n", "00000010: 4142 4344  AB\n", "/*", "*/", "//", "# <<<\n", "@@ -1 +1 @@\n-a\n+a\n", "(",
    "BT Tj \\(",
    "a\0", "BT (a) Tj ", "<41> TJ BT ", "b0VIM", "-", "'a', ", "<b>", "name:1:", "1: ", "1" * 90 + " ", "x.y/z-1-",
)  # fmt: skip
WANTED = ["total_of_all", "=", "first_value", "+", "second_value", "*", "2", "-", "third", "(", "a", ")"]
FOUND = Needles(
    ("result = total_of_all(first_value)",), (), (), (), (), {("listed", 12): (" ".join(WANTED),)}, (("a", (0,)),)
)  # one short anchor, which stands in nearly every text: all of them are cut into tokens


@pytest.mark.slow
@pytest.mark.parametrize("atom", long_rows(LOOKED_AT), ids=repr)
@pytest.mark.parametrize("name", ["a.py", "a.html"])
def test_a_file_that_is_searched(name: str, atom: str) -> None:
    def step(text: str) -> None:
        search(FOUND).file("/testbed/a", name, text.encode("latin-1"))

    assert in_proportion(step, atom)
    assert in_proportion(step, atom, ("a ", "\n"))


@pytest.mark.long
@pytest.mark.parametrize("name", ["a.py", "a.html", "a"])
def test_a_file_of_any_hostile_text(name: str) -> None:
    assert families_that_grow(lambda text: search(FOUND).file("/testbed/a", name, encode(text))) == []


@pytest.mark.slow
def test_archives_that_unpack_to_more_than_is_read() -> None:
    """Of a gibibyte of zeros in a kilobyte, 64 MiB are read; all together a gibibyte, and then the search stops."""
    packed = zlib.compress(gzip.compress(bytes(80 << 20), 9), 9)
    limited = search(FOUND, size=100 << 20)
    limited.file("/testbed/a", "a.bin", packed)
    with pytest.raises(SEARCH.Spent, match="are packed"):
        limited.file("/testbed/b", "b.bin", packed)


@pytest.mark.slow
def test_needles_of_a_bug_that_takes_everything_away(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Many lines, many runs of them and many files, each compared with every file of the original."""

    def step(text: str) -> None:
        count = len(text) // 10
        tree = tmp_path_factory.mktemp("tree")
        diff = ""
        for number in range(count):
            lines = [f"value_of_{number}_is = {line}\n" for line in range(10)]
            (tree / f"m{number}.py").write_text("".join(lines))
            (tree / f"copy{number}.py").write_text("".join(reversed(lines)))
            head = f"diff --git a/m{number}.py b/m{number}.py\n--- a/m{number}.py\n+++ b/m{number}.py\n@@ -1,10 +1 @@\n"
            diff += head + "".join(f"-{line}" for line in lines) + "+pass\n"
        assert len(needles(Task(World(tree=(tree,)), Artifact("", (), "", diff, ""))).lines) == 10 * count

    assert in_proportion(step, "x", shortest=4_000)
