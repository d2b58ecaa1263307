"""Counts how many of the changed lines the probes' inputs run: the other lines are not checked."""

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from selfplay.oracle.behaviour.changed_code import changed_numbers
from selfplay.oracle.originals import original_texts
from selfplay.oracle.rewriting.python_trees import Function, is_text, parsed
from selfplay.oracle.task import Task

_RANGE = re.compile(r"(?<!\w)(\d{1,7})(?:-(\d{1,7}))?(?!\w)")
MOST_LINES = 20_000
"""Lines that one call is believed to have run: the program may say what it likes, `1-9999999` a hundred times."""
_SILENT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Try)
"""Statements that run without a line of their own, or at another line."""


def changed_statements(task: Task) -> frozenset[int]:
    """First lines, in the original, of the statements in functions that the bug changes or removes; empty if it only
    adds code. Lines of different files are not distinguished."""
    lines = changed_numbers(task)
    texts = original_texts(task.world, [*lines])
    trees = {path: parsed(text) for path, text in texts.items()}
    return frozenset(line for path, tree in trees.items() if tree for line in lines[path] & {*_statements(tree)})


def _statements(tree: ast.Module) -> Iterator[int]:
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        for node in ast.walk(function):
            if isinstance(node, ast.stmt) and not isinstance(node, _SILENT) and not is_text(node):
                yield node.lineno


def reached(changed: frozenset[int], lines: Iterable[str]) -> tuple[int, int]:
    """The number of changed lines that run in calls with these `lines` (from `TriedCalls.lines`), and of all changed
    lines."""
    return len(changed & {line for text in set(lines) for line in ran_in(text)}), len(changed)


def ran_in(lines: str) -> frozenset[int]:
    """The lines of one call, the first of them if they are too many."""
    ranges = (found.groups() for found in _RANGE.finditer(lines))
    every = (line for first, last in ranges for line in range(int(first), int(last or first) + 1))
    return frozenset(islice(every, MOST_LINES))
