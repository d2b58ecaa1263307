"""Files of the original in which the changed functions say which of their statements run: a mark stands before each.

A trace function costs more: Python calls it for every function that the program enters. Only the original is marked;
its outcomes are not read then.
"""

import ast
from collections.abc import Collection
from dataclasses import replace

from selfplay.oracle.behaviour.traced_calls import changed_lines
from selfplay.oracle.originals import read_originals
from selfplay.oracle.rewriting.python_trees import Function, bodies, first_line, parsed, unparsed
from selfplay.oracle.task import Task
from selfplay.plain_text import decode, encode
from selfplay.workbench.files import TestFile

MARK = "selfplay_line"
"""The built-in that a mark calls with the line of its statement; the caller program defines it."""


def marked_files(task: Task) -> dict[str, TestFile]:
    """The changed files of the original, with marks in their changed functions."""
    firsts = changed_lines(task)
    files = read_originals(task.world, [*firsts])
    return {
        path: replace(file, content=encode(marked(decode(file.content), firsts[path]))) for path, file in files.items()
    }


def marked(text: str, firsts: Collection[int]) -> str:
    """A file with marks in the functions that begin at these lines, in all functions if there are none; unchanged if it
    cannot be parsed, or is nested too deeply to be written."""
    tree = parsed(text)
    if tree is None:
        return text
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    for function in functions:
        if not firsts or first_line(function) in firsts:
            _mark(function)
    try:
        return unparsed(tree)
    except RecursionError:
        return text


def _mark(function: Function) -> None:
    """Put marks into a function, but not into functions and classes in it."""
    first = function.body[0]
    documented = ast.get_docstring(function, clean=False) is not None
    for body in [*bodies(function)]:
        body[:] = [one for node in body for one in ((node,) if documented and node is first else (_made(node), node))]


def _made(node: ast.stmt) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(node.lineno)], []))
