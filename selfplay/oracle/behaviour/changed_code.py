"""Which lines of the original a bug changes, and what values the functions there ask for."""

import ast
from collections import defaultdict

from selfplay import patches
from selfplay.oracle.originals import original_texts
from selfplay.oracle.rewriting.python_trees import Function, is_text, parsed
from selfplay.oracle.task import Task
from selfplay.patches.changes import changes

MOST_VALUES, LONGEST_VALUE, LARGEST_VALUE = 60, 40, 10_000
"""Limits: values in all, the characters of a text, and a number, which may become a size."""


def changed_numbers(task: Task, *, insertions: bool = False) -> dict[str, set[int]]:
    """Changed Python file -> numbers of the lines of the original that the bug changes or removes, with `insertions`
    also of those before which it only inserts."""
    found = defaultdict[str, set[int]](set)
    for section in (one for one in patches.parse(task.artifact.bug_inject) if (one.old_path or "").endswith(".py")):
        for change in (change for hunk in section.hunks for change in changes(hunk)):
            found[section.old_path or ""] |= {*(change.lines if insertions else range(change.start, change.end))}
    return dict(found)


def asked_values(task: Task) -> tuple[str | int, ...]:
    """The short texts and the numbers in the functions that the bug changes, as the original has them: their branches
    ask for these, and few inputs of tests hold them."""
    lines = changed_numbers(task, insertions=True)
    found = dict[tuple[type, str | int], None]()
    for path, text in original_texts(task.world, [*lines]).items():
        tree = parsed(text)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, Function) and lines[path] & {*range(node.lineno, (node.end_lineno or 0) + 1)}:
                found |= dict.fromkeys((type(one), one) for one in _values(node))
    return tuple(value for _, value in found)[:MOST_VALUES]


def _values(function: Function) -> list[str | int]:
    texts = {id(node.value) for node in ast.walk(function) if isinstance(node, ast.Expr) and is_text(node)}
    found = [node.value for node in ast.walk(function) if isinstance(node, ast.Constant) and id(node) not in texts]
    return [
        one for one in found
        if (type(one) is int and abs(one) <= LARGEST_VALUE) or (isinstance(one, str) and 0 < len(one) <= LONGEST_VALUE)
    ]  # fmt: skip
