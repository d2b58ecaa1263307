"""A program that gives one answer to all inputs is written and run: full assurance only where it is caught."""

import ast
from pathlib import Path

import pytest
from exploits.projects import Lab, Project

from selfplay.oracle.behaviour.constant_programs import _constant, constant_programs, giving, literal
from selfplay.oracle.behaviour.stored_behaviour import most_alike
from selfplay.oracle.grades import Grade
from selfplay.plain_text import decode
from selfplay.repository.suites.pytest_suite import PARSER, render_script
from selfplay.sandbox import Backend

LINES = frozenset(range(1, 99))
STOCK = '''"""Names in order."""


def at(names, wanted):
    if wanted not in names:
        raise KeyError(wanted)
    return names.index(wanted)
'''
REFUSING = '''"""A door."""


def enter(name, age):
    if name:
        raise PermissionError(name)
    raise PermissionError(age)
'''


EFFECT = '''"""A stock."""


def put(stock, name, size):
    if not name:
        raise ValueError(name)
    stock[name] = stock.get(name, 0) + size
'''


def project(path: str, text: str, broken: str, tests: str) -> Project:
    """A package of one file with `test_hidden`, which fails with the bug, and `test_shown`."""
    files = {
        path: text, f"{path.split('/')[0]}/__init__.py": "", "tests/test_it.py": tests,
        "pyproject.toml": "[project]\nname = 'it'\nversion = '1'\n",
    }  # fmt: skip
    shown = tests.split("def test_hidden")[0]
    script = render_script(["tests/test_it.py"])
    hidden = ("tests/test_it.py::test_hidden",)
    return Project(files, (path, broken), {"tests/test_it.py": shown}, script, PARSER, hidden,
                   ("tests/test_it.py::test_shown",))  # fmt: skip


ONE_EXCEPTION = project(
    "stock/names.py", STOCK, STOCK.replace("raise KeyError(wanted)", "return -1"),
    """import pytest

from stock import names


def test_shown():
    assert names.at(["apple", "pear", "fig"], "fig") == 2


def test_hidden():
    with pytest.raises(KeyError):
        names.at(["apple", "pear"], "plum")
""",
)  # fmt: skip
ALWAYS_ONE = project(
    "door/way.py", REFUSING, REFUSING.replace("raise PermissionError(name)", "return name"),
    """import pytest

from door import way


def test_shown():
    with pytest.raises(PermissionError):
        way.enter("", 30)


def test_hidden():
    with pytest.raises(PermissionError):
        way.enter("eve", 30)
""",
)  # fmt: skip


LOST_EFFECT = project(
    "store/keep.py", EFFECT, EFFECT.replace("stock.get(name, 0)", "stock[name]"),
    """import pytest

from store import keep


def test_shown():
    keep.put({"fig": 1}, "fig", 2)
    with pytest.raises(ValueError):
        keep.put({"fig": 1}, "", 2)


def test_hidden():
    keep.put({"pear": 1}, "fig", 2)
""",
)  # fmt: skip


def gold(backend: Backend, folder: Path, bug: Project) -> tuple[Lab, Grade]:
    lab = Lab("python", backend, folder, bug)
    return lab, lab.grade(lab.diff(lab.fix))


@pytest.mark.slow
def test_a_bug_of_one_exception_is_fully_assured_if_its_guards_catch_who_always_raises(
    backend: Backend, tmp_path: Path
) -> None:
    """All probes raise `KeyError`; the calls that find a name are guards, and a program without answers fails them."""
    lab, grade = gold(backend, tmp_path, ONE_EXCEPTION)
    known = lab._grader.calibration.behaviour
    assert known is not None and {*known.right.values().__iter__().__next__().values()} == {'["raised", "KeyError"]'}
    assert len(most_alike(known.right)) == len(known.right)
    assert known.constant_caught and (grade.resolved, grade.weaknesses) == (True, ())


@pytest.mark.slow
def test_a_bug_without_an_answer_is_fully_assured_if_its_effects_tell(backend: Backend, tmp_path: Path) -> None:
    """All probes give None, also to a function that does all but its last statement; what becomes of its arguments
    tells."""
    lab, grade = gold(backend, tmp_path, LOST_EFFECT)
    known = lab._grader.calibration.behaviour
    assert known is not None and len(most_alike(known.right)) == len(known.right)
    assert known.constant_caught and (grade.resolved, grade.weaknesses) == (True, ())


@pytest.mark.slow
def test_it_is_weakly_assured_where_a_constant_is_right_everywhere(backend: Backend, tmp_path: Path) -> None:
    lab, grade = gold(backend, tmp_path, ALWAYS_ONE)
    known = lab._grader.calibration.behaviour
    assert known is not None and not known.constant_caught
    assert grade.resolved and any("have the same answer" in why for why in grade.weaknesses), grade


@pytest.mark.slow
def test_there_is_a_program_for_the_function_and_one_for_the_changed_statements(
    backend: Backend, tmp_path: Path
) -> None:
    nothing = giving("null")
    assert nothing is not None
    assert len(constant_programs(Lab("python", backend, tmp_path, LOST_EFFECT).task, nothing, LINES)) == 2


@pytest.mark.slow
def test_the_program_is_the_original_with_one_function_that_has_one_answer(backend: Backend, tmp_path: Path) -> None:
    lab = Lab("python", backend, tmp_path, ONE_EXCEPTION)
    statement = giving('["raised", "KeyError"]')
    assert statement is not None
    (made,) = constant_programs(lab.task, statement, LINES)
    expected = STOCK[: STOCK.index("    if wanted")] + "    raise KeyError\n"
    assert {path: ast.dump(ast.parse(decode(file.content))) for path, file in made.items()} == {
        "stock/names.py": ast.dump(ast.parse(expected))
    }


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        ('["raised", "KeyError"]', "raise KeyError"), ("null", "return None"), ("true", "return True"),
        ('"a\'b"', "return \"a'b\""), ('["int", "-7"]', "return -7"), ('["float", "0.5"]', "return 0.5"),
        ('["raised", "NotFound"]', "raise type('NotFound', (Exception,), {})"),
        ('["bytes", "b\'x\'"]', "return b'x'"), ('["list", ["int", "1"], "1"]', "return list([1])"),
        ('["tuple", "0"]', "return tuple([])"), ('["dict", ["a", null]]', "return {'a': None}"),
    ],
)  # fmt: skip
def test_an_answer_as_a_statement(answer: str, source: str) -> None:
    statement = giving(answer)
    assert statement is not None and ast.unparse(statement) == source


@pytest.mark.parametrize(
    "answer",
    [
        '["raised", "x; import os"]', '["float", "nan"]', '["list", ["int", "1"], "2"]', '["m.Box", ["size", "1"]]',
        '["set", "1"]', "...", '["dict", null]',
        '["list", ["dict", null], "1"]', '["int", "{[]:1}"]', '["int", "__import__(\'os\')"]', "[]",
        '["raised", ["KeyError"]]', "[" * 100_000,
    ],
)  # fmt: skip
def test_an_answer_without_a_literal_is_no_statement(answer: str) -> None:
    assert giving(answer) is None


def test_what_is_cut_off_has_no_literal() -> None:
    with pytest.raises(ValueError, match="list has no literal"):
        literal(["list", ["int", "1"], "200"])


CHANGED = """def f(x):
    if x > 1:
        y = 2
        return y
    raise shop.NotFound(x)
"""


@pytest.mark.parametrize(
    ("lines", "answer", "expected"),
    [
        ({3}, "null", CHANGED.replace("y = 2", "return None")),
        ({2}, "null", "def f(x):\n    return None\n    raise shop.NotFound(x)\n"),
        ({5}, "null", CHANGED.replace("raise shop.NotFound(x)", "return None")),
        ({5}, '["raised", "NotFound"]', None),
        ({4, 5}, '["raised", "NotFound"]', CHANGED.replace("return y", "raise type('NotFound', (Exception,), {})")),
        ({1}, "null", None),
    ],
)  # fmt: skip
def test_an_answer_in_the_place_of_the_changed_statements(lines: set[int], answer: str, expected: str | None) -> None:
    """A statement that gives the answer itself stays, and so do the heads of functions."""
    statement = giving(answer)
    assert statement is not None
    made = [ast.dump(ast.parse(text)) for text in _constant(CHANGED, [], lines, statement, LINES)]
    assert made == ([] if expected is None else [ast.dump(ast.parse(expected))])


def test_a_changed_line_of_a_case_or_a_handler_is_not_that_of_the_statement_around_it() -> None:
    matched = "def f(x):\n    match x:\n        case 1:\n            y = 2\n"
    text = f"{matched}    try:\n        z = 3\n    except OSError:\n        z = 4\n"
    nothing = giving("null")
    assert nothing is not None
    for line, said in ((4, "y = 2"), (8, "z = 4")):
        (made,) = _constant(text, [], {line}, nothing, LINES)
        assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(text.replace(said, "return None")))


def test_a_constructor_that_has_an_answer_raises_an_error() -> None:
    """`return True` in it is a `TypeError`, as is what the original raises there: no such program was ever caught."""
    text = (
        "class A:\n    def __init__(self, *x):\n        if not x:\n            raise TypeError(x)\n        self.x = x\n"
    )
    yes = giving("true")
    assert yes is not None
    (made,) = _constant(text, [2], {4}, yes, LINES)
    assert ast.unparse(ast.parse(made)) == "class A:\n\n    def __init__(self, *x):\n        raise TypeError(x)"
    assert not [*_constant(text, [2], {5}, yes, LINES)]
