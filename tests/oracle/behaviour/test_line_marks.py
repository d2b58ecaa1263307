"""Marks before the statements of the changed functions: they tell what a trace function would, and change nothing."""

import ast
import builtins
import fnmatch
import inspect
import shlex
import sys
import textwrap
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from selfplay.oracle.behaviour.line_marks import MARK, marked
from selfplay.oracle.rewriting.python_trees import Function

SOURCE = '''
def outer(values):
    """The documentation."""
    found = []
    for value in values:
        try:
            if value > 2:
                found.append(value)
            elif value == 2:
                raise KeyError
            else:
                continue
        except KeyError:
            found.append(
                0,
            )
        finally:
            found.append(-1)
    else:
        found.append(9)

    def inner():
        return 1

    match found:
        case [9]:
            return "empty"
        case _:
            return found, inner()


@property
def other():
    return 2
'''


def lines_of(text: str, name: str, *given: Any) -> tuple[Any, set[int]]:
    """What the function returns, and the lines that its marks tell."""
    seen, space = set[int](), dict[str, Any]()
    space["__builtins__"] = {**vars(builtins), MARK: seen.add}
    exec(compile(text, "marked", "exec"), space)
    return space[name](*given), seen


def test_each_statement_that_runs_is_told_once() -> None:
    """Lines count from the text without marks; line 3 is documentation, and 22 lies in a function of its own."""
    text = marked(SOURCE, [2])
    value, seen = lines_of(text, "outer", [1, 2, 3])
    assert value == ([-1, 0, -1, 3, -1, 9], 1)
    assert seen == {4, 5, 6, 7, 8, 9, 10, 12, 14, 18, 20, 22, 25, 29}
    assert lines_of(text, "outer", []) == ("empty", {4, 5, 20, 22, 25, 27})
    assert ast.get_docstring(next(node for node in ast.walk(ast.parse(text)) if isinstance(node, Function)))


def test_only_functions_of_these_lines_are_marked() -> None:
    """A decorated function begins at its decorator; without lines, all are marked, inner ones too."""
    assert marked(SOURCE, [32]).count(MARK) == 1
    assert marked(SOURCE, [33]).count(MARK) == 0
    assert marked(SOURCE, []).count(MARK) == marked(SOURCE, [2]).count(MARK) + 1 + 1


def test_what_cannot_be_marked_stays() -> None:
    """A syntax error, and an expression that is parsed but nested too deeply to be written again."""
    deep = "def f():\n    return " + "-" * 900 + "1\n"
    assert marked("def f(:\n", []) == "def f(:\n"
    assert marked(deep, []) == deep
    joined = "def f(x):\n    return f\"{x.replace('\xa0', ' ')}\"\n"
    assert marked(joined, []) == joined or sys.version_info >= (3, 12)  # before, Python cannot write this tree


@pytest.mark.parametrize(("module", "name", "given"), [
    (shlex, "split", ("a 'b c' \"d\\e\" #f",)), (textwrap, "dedent", ("  a\n    b\n\n  c",)),
    (textwrap, "wrap", ("one two three four five six", 9)), (fnmatch, "translate", ("a*[!b-d]?",)),
])  # fmt: skip
def test_marks_tell_what_a_trace_function_tells(module: ModuleType, name: str, given: tuple[Any, ...]) -> None:
    """For the statements of all functions of a module of Python's own. A trace function also tells the line of a `try`
    and lines inside of a statement."""
    text, traced = inspect.getsource(module), set[int]()
    value, seen = lines_of(marked(text, []), name, *given)
    assert value == outcome(module, name, given, traced)
    statements = {node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)}
    quiet = {node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Try)}
    assert len(seen) > 5 and seen - quiet == traced & statements - quiet


def outcome(module: ModuleType, name: str, given: tuple[Any, ...], lines: set[int]) -> Any:
    """What the module's own function returns; its executed lines are added to `lines`."""

    def tell(frame: Any, event: str, _: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename != module.__file__ or frame.f_code.co_name.startswith("<"):
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return tell

    before = sys.gettrace()
    sys.settrace(tell)
    try:
        return getattr(module, name)(*given)
    finally:
        sys.settrace(before)
