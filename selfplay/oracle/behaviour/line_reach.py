"""How much of what a bug changes is run by the inputs that predictions are judged with: elsewhere nothing is seen."""

import ast
import re
from collections.abc import Iterable, Iterator

from selfplay import patches
from selfplay.oracle.originals import original_texts
from selfplay.oracle.rewriting.python_trees import Function, parsed
from selfplay.oracle.world import Task
from selfplay.patches.changes import changes

_RANGE = re.compile(r"(?<!\w)(\d{1,7})(?:-(\d{1,7}))?(?!\w)")
_SILENT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Try)
"""Statements that run without a line of their own, or at another one."""


def changed_statements(task: Task) -> frozenset[int]:
    """The lines of the original at which statements of functions begin that the bug changes or takes away; none where
    it only adds. Lines of several files are not told apart."""
    sections = [one for one in patches.parse(task.artifact.bug_inject) if (one.old_path or "").endswith(".py")]
    texts = original_texts(task.world, [one.old_path or "" for one in sections])
    return frozenset(line for one in sections for line in _changed(one, texts.get(one.old_path or "", "")))


def _changed(section: patches.FilePatch, text: str) -> set[int]:
    tree = parsed(text)
    every = [change for hunk in section.hunks for change in changes(hunk)]
    removed = {line for change in every for line in range(change.start, change.end)}
    return removed & {*_statements(tree)} if tree is not None else set()


def _statements(tree: ast.Module) -> Iterator[int]:
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        for node in ast.walk(function):
            text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.stmt) and not isinstance(node, _SILENT) and not text:
                yield node.lineno


def reached(changed: frozenset[int], lines: Iterable[str]) -> tuple[int, int]:
    """How many of the changed lines run in calls with these `lines`, as `Tried.lines` gives them, and how many there
    are."""
    ran = {line for text in set(lines) for first, last in _RANGE.findall(text) for line in _range(first, last)}
    return len(changed & ran), len(changed)


def _range(first: str, last: str) -> range:
    return range(int(first), int(last or first) + 1)
