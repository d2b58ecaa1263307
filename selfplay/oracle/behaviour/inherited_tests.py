"""Gives a test class its own copies of the tests that it inherits.

A probe takes the place of a test where that is defined. The test of a base class or mix-in runs in many classes, of
which one may decide, and its file may name no test at all.
"""

import ast
import copy
import posixpath
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from selfplay.oracle.behaviour.borrowed import bound, names_in
from selfplay.oracle.rewriting.python_trees import Function, Owner, WantedTests, parsed, unparsed

DEEPEST, MOST = 20, 20_000
"""Classes above a class that are looked at, and pairs of a class and an inherited test in one file."""


@dataclass(frozen=True, eq=False)
class _TestModule:
    """A test file. `taken`: the import by which the file of the tests gets names of it; None for that file itself."""

    tree: ast.Module
    taken: ast.ImportFrom | None = None

    @cached_property
    def tops(self) -> dict[str, ast.stmt]:
        """Name -> the first class or import that gives it."""
        found = dict[str, ast.stmt]()
        for node in self.tree.body:
            for name in bound(node) if isinstance(node, ast.ClassDef | ast.ImportFrom) else ():
                found.setdefault(name, node)
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(name for node in self.tree.body for name in bound(node))


Base = tuple[ast.ClassDef, _TestModule]


def with_inherited(path: str, texts: Mapping[str, str], tests: Collection[str]) -> str:
    """The text of a test file in which each class defines those of these tests that it inherits from a class of this
    file, or of another from which this one imports it. `texts`: path -> text of all test files; `tests`: ids.

    Unchanged if there are none, or it cannot be parsed, or is nested too deeply to be unparsed."""
    tree, asked = parsed(texts[path]), WantedTests(path, tests)
    if tree is None:
        return texts[path]
    own, imports, copied = _TestModule(tree), dict[str, ast.ImportFrom](), False
    for node, test, file in [*islice(_inherited(own, path, texts), MOST)]:
        if asked.has(test, Owner(node, node.name)) and not _belongs(test):
            node.body.append(copy.copy(test))
            imports |= _lacking(test, file, own)
            copied = True
    after = [at for at, node in enumerate(tree.body, 1) if isinstance(node, ast.Import | ast.ImportFrom)]
    tree.body[max(after, default=0) : max(after, default=0)] = imports.values()
    try:
        return unparsed(tree) if copied else texts[path]
    except RecursionError:
        return texts[path]


def imported_file(path: str, node: ast.stmt, texts: Container[str]) -> str | None:
    """The test file (one of `texts`) from which an import in the file `path` takes names; None for any other
    statement."""
    if not isinstance(node, ast.ImportFrom):
        return None
    folder = posixpath.dirname(path)
    for _ in range(node.level - 1):
        folder = posixpath.dirname(folder)
    module = (node.module or "").replace(".", "/")
    base = posixpath.join(folder, module) if node.level else module
    found = (f"{base.rstrip('/')}.py", posixpath.join(base, "__init__.py"))
    return next((one for one in found if one in texts), None)


def _inherited(
    own: _TestModule, path: str, texts: Mapping[str, str]
) -> Iterator[tuple[ast.ClassDef, Function, _TestModule]]:
    """Each class of a file with each test that it inherits and does not replace, and the file of that test."""
    files = dict[str, _TestModule | None]()
    for node in [one for one in own.tree.body if isinstance(one, ast.ClassDef)]:
        known = {one.name for one in node.body if isinstance(one, Function)}
        for base, file in _bases((node, own), path, texts, files):
            for test in base.body:
                if isinstance(test, Function) and test.name.startswith("test") and test.name not in known:
                    known.add(test.name)
                    yield node, test, file


def _bases(of: Base, path: str, texts: Mapping[str, str], files: dict[str, _TestModule | None]) -> Iterator[Base]:
    """The classes of test files that a class inherits from, nearest first. `files`: those that were parsed."""
    left = [of]
    for _ in range(DEEPEST):
        if not left:
            return
        node, file = left.pop(0)
        names = [name.id for name in node.bases if isinstance(name, ast.Name)]
        found = [base for name in names if (base := _class(name, file, path, texts, files))]
        yield from found
        left = found + left


def _class(
    name: str, file: _TestModule, path: str, texts: Mapping[str, str], files: dict[str, _TestModule | None]
) -> Base | None:
    """The class that a name of a file stands for. Of another file the classes are looked at, not its imports."""
    node = file.tops.get(name)
    if isinstance(node, ast.ClassDef):
        return node, file
    if file.taken or not isinstance(node, ast.ImportFrom) or all(one.name != name or one.asname for one in node.names):
        return None
    other = imported_file(path, node, texts)
    if other is None:
        return None
    if other not in files:
        tree = parsed(texts[other])
        files[other] = _TestModule(tree, node) if tree else None
    there = files[other]
    found = there.tops.get(name) if there else None
    return (found, there) if there and isinstance(found, ast.ClassDef) else None


def _belongs(test: Function) -> bool:
    """Whether the test means something else outside of its class: it uses `super()`, or a name of this class alone."""
    names = [one.attr for one in ast.walk(test) if isinstance(one, ast.Attribute)] + names_in(test)
    return any(name == "super" or (name.startswith("__") and not name.endswith("__")) for name in names)


def _lacking(test: Function, file: _TestModule, own: _TestModule) -> dict[str, ast.ImportFrom]:
    """Imports of the names that the test uses from the file of its class, and that the file of the tests lacks."""
    taken = file.taken
    if taken is None:
        return {}
    used = dict.fromkeys(name for name in names_in(test) if name in file.names and name not in own.names)
    return {name: ast.ImportFrom(taken.module, [ast.alias(name)], taken.level) for name in used}
