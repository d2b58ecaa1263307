"""Tests that several classes inherit: a class in which one fails drops it (`test_x = None`), others keep it.

Removing the definition would take the test from classes that the bug does not break, which check 6 refuses. Bases are
found by name, in the same file or another test file; other bases are unknown.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from selfplay.patches.lines import split_lines
from selfplay.python_source import shared_tree
from selfplay.repository.suites.pytest_suite import file_of
from selfplay.scripted.edits.cuts import UNREADABLE, Cut, indent_of
from selfplay.scripted.edits.names import Function


@dataclass(frozen=True)
class _Class:
    """A class of a test file, as its body defines it."""

    path: str
    node: ast.ClassDef

    @property
    def bases(self) -> Iterator[str]:
        """The last names of its bases, in their order."""
        for base in self.node.bases:
            if isinstance(base, ast.Name | ast.Attribute):
                yield base.attr if isinstance(base, ast.Attribute) else base.id

    def defines(self, test: str) -> bool:
        return any(getattr(statement, "name", "") == test for statement in self.node.body)


class _Classes:
    """The classes of some test files."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.named: dict[str, list[_Class]] = defaultdict(list)
        for path, text in texts.items():
            for node in ast.walk(_parsed(text)):
                if isinstance(node, ast.ClassDef):
                    self.named[node.name].append(_Class(path, node))

    def of(self, test_id: str) -> _Class | None:
        """The class of a test."""
        parts = test_id.split("[")[0].split("::")
        return self.find(parts[-2], file_of(test_id)) if len(parts) > 2 else None

    def find(self, name: str, path: str) -> _Class | None:
        return min(self.named.get(name, ()), key=lambda one: one.path != path, default=None)

    def line(self, one: _Class, seen: tuple[_Class, ...] = ()) -> tuple[_Class, ...]:
        """A class and those it inherits from, nearest first, without repeats."""
        seen = (*seen, one)
        for base in one.bases:
            found = self.find(base, one.path)
            if found and found not in seen:
                seen = self.line(found, seen)
        return seen

    def definer(self, one: _Class, test: str) -> _Class | None:
        """The class whose body gives a class this test."""
        return next((above for above in self.line(one) if above.defines(test)), None)


@dataclass(frozen=True)
class Heir:
    """The body of a class that drops inherited tests: its file, its last line, and its indent."""

    path: str
    end: int
    indent: str

    def without(self, tests: Sequence[str]) -> Cut:
        lines = ("", *(f"{self.indent}{test} = None" for test in tests))
        return Cut(self.end + 1, self.end, lines, "left out an inherited test")


def heirs(
    texts: Mapping[str, str], path: str, function: Function, failing: Sequence[str], passing: Iterable[str]
) -> list[Heir] | None:
    """The classes that may drop the test `function` of the file `path`, which fails in them but is needed by `passing`
    tests of other classes. Empty if no class needs it: it can be removed. None if it can neither be removed nor
    dropped: it fails in the class that defines it, or in a base of a class that needs it."""
    named = [test for test in passing if test.split("[")[0].endswith(f"::{function.name}")]
    if not named:
        return []
    classes = _Classes({file: texts[file] for file in {path, *map(file_of, (*failing, *named))} if file in texts})
    owner = next((one for name in classes.named.values() for one in name if _holds(one, path, function)), None)
    sharing = [one for test in named if (one := classes.of(test)) and owner is classes.definer(one, function.name)]
    if owner is None or not sharing:
        return []
    failed = {id(one): one for test in failing if (one := classes.of(test))}
    needed = {id(owner), *(id(above) for one in sharing for above in classes.line(one))}
    if not failed or needed & failed.keys():
        return None
    found = [_heir(one, texts) for one in failed.values()]
    return None if None in found else [one for one in found if one]


def _heir(one: _Class, texts: Mapping[str, str]) -> Heir | None:
    first = one.node.body[0]
    if first.lineno == one.node.lineno:
        return None
    return Heir(one.path, one.node.end_lineno or 0, indent_of(split_lines(texts[one.path])[first.lineno - 1]))


def _holds(one: _Class, path: str, function: Function) -> bool:
    return one.path == path and any(
        isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
        and (statement.name, statement.lineno) == (function.name, function.lineno)
        for statement in one.node.body
    )


def _parsed(text: str) -> ast.Module:
    try:
        return shared_tree(text)
    except UNREADABLE:
        return ast.Module([], [])
