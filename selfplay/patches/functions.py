"""Finds the function that a line belongs to: by syntax in Python, by the conventions of test runners elsewhere."""

import ast
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from selfplay.python_source import syntax_tree

_PYTHON = (".py", ".pyi")
_TEST = re.compile(
    r"""^\s*(?:@test\s+["'](?P<bats>[^"']+)"""
    r"""|(?:test|it)(?:\.\w+)?\s*\(\s*["'`](?P<called>[^"'`]+)"""
    r"""|(?:[\w:<>]+[\s*&]+){0,20}(?P<named>test\w*)\s*\()"""
)


@dataclass(frozen=True)
class PatchedFunction:
    """`name`: qualified by its enclosing classes and functions. `first` to `last`: its 1-based lines, including
    decorators."""

    name: str
    first: int
    last: int

    def holds(self, line: int) -> bool:
        return self.first <= line <= self.last


def functions(path: str, text: str) -> tuple[PatchedFunction, ...]:
    """The functions of a Python file, outer ones first; empty for any other text and for a file with syntax errors."""
    if not path.endswith(_PYTHON):
        return ()
    try:
        return tuple(_defined(syntax_tree(text), ""))
    except (SyntaxError, ValueError, RecursionError):
        return ()


def functions_at(found: Sequence[PatchedFunction], lines: Iterable[int]) -> set[str]:
    """The names of the innermost functions that contain the lines; the empty one if none contains one of them. In time
    that grows with both numbers, not with their product."""
    names, around = set[str](), list[PatchedFunction]()
    waiting = deque(sorted(found, key=lambda function: (function.first, -function.last)))
    for line in sorted(lines):
        while waiting and waiting[0].first <= line:
            around.append(waiting.popleft())
        while around and around[-1].last < line:
            around.pop()
        names.add(around[-1].name if around else "")
    return names


def find_tests(path: str, text: str) -> tuple[PatchedFunction, ...]:
    """The tests of a file, as far as its text shows them. Outside Python each test ends where the next one begins."""
    if path.endswith(_PYTHON):
        return tuple(one for one in functions(path, text) if _is_test(one.name))
    lines = text.split("\n")
    found = [(at, match) for at, line in enumerate(lines, 1) if (match := _TEST.match(line))]
    ends = [at - 1 for at, _ in found[1:]] + [len(lines)]
    return tuple(
        PatchedFunction(match["bats"] or match["called"] or match["named"], at, end)
        for (at, match), end in zip(found, ends, strict=False)  # no tests: one end
    )


def _is_test(name: str) -> bool:
    *around, last = name.split(".")
    return last.startswith("test") and not any(outer.startswith("test") for outer in around)


def _defined(node: ast.AST, around: str) -> Iterator[PatchedFunction]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{around}{child.name}"
            if not isinstance(child, ast.ClassDef):
                first = min(line.lineno for line in (child, *child.decorator_list))
                yield PatchedFunction(name, first, child.end_lineno or child.lineno)
            yield from _defined(child, f"{name}.")
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _defined(child, around)
