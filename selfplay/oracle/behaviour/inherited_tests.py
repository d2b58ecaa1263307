"""Gives a test class its own copies of the tests that it inherits.

A probe takes the place of a test where that is defined. The test of a base class or mix-in runs in many classes, of
which one may decide, and its file may name no test at all.
"""

import ast
import copy
import posixpath
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from selfplay.oracle.behaviour.borrowed import bound
from selfplay.oracle.rewriting.python_trees import Function, Owner, WantedTests, parsed, unparsed

DEEPEST = 20
"""Classes above a class that are looked at."""


@dataclass(frozen=True)
class _Base:
    """A class of a test file, with the file's tree. `taken`: the import by which the file of the tests gets it."""

    node: ast.ClassDef
    tree: ast.Module
    taken: ast.ImportFrom | None = None

    def tests(self) -> Iterator[Function]:
        yield from (one for one in self.node.body if isinstance(one, Function) and one.name.startswith("test"))


def with_inherited(path: str, texts: Mapping[str, str], tests: Collection[str]) -> str:
    """The text of a test file in which each class defines those of these tests that it inherits from a class of this
    file, or of another from which this one imports it. `texts`: path -> text of all test files; `tests`: ids.

    Unchanged if there are none, or it cannot be parsed."""
    tree, asked = parsed(texts[path]), WantedTests(path, tests)
    if tree is None:
        return texts[path]
    copied, imports = 0, dict[str, ast.ImportFrom]()
    for node in [one for one in tree.body if isinstance(one, ast.ClassDef)]:
        known = {one.name for one in node.body if isinstance(one, Function)}
        for base in _bases(_Base(node, tree), path, texts):
            for test in base.tests():
                if test.name not in known and asked.has(test, Owner(node, node.name)) and not _belongs(test):
                    node.body.append(copy.deepcopy(test))
                    imports |= _lacking(test, base, tree)
                    copied += 1
                known.add(test.name)
    if not copied:
        return texts[path]
    after = [at for at, node in enumerate(tree.body, 1) if isinstance(node, ast.Import | ast.ImportFrom)]
    tree.body[max(after, default=0) : max(after, default=0)] = imports.values()
    return unparsed(tree)


def imported_file(path: str, node: ast.stmt, texts: Mapping[str, str]) -> str | None:
    """The test file from which an import in the file `path` takes names; None for any other statement."""
    if not isinstance(node, ast.ImportFrom):
        return None
    folder = posixpath.dirname(path)
    for _ in range(node.level - 1):
        folder = posixpath.dirname(folder)
    module = (node.module or "").replace(".", "/")
    base = posixpath.join(folder, module) if node.level else module
    found = (f"{base.rstrip('/')}.py", posixpath.join(base, "__init__.py"))
    return next((one for one in found if one in texts), None)


def names_in(*nodes: ast.AST) -> list[str]:
    """The variables that these nodes use."""
    return [one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)]


def _bases(of: _Base, path: str, texts: Mapping[str, str]) -> Iterator[_Base]:
    """The classes of test files that a class inherits from, nearest first."""
    left = [of]
    for _ in range(DEEPEST):
        if not left:
            return
        one = left.pop(0)
        names = [name.id for name in one.node.bases if isinstance(name, ast.Name)]
        found = [base for name in names if (base := _class(name, one, path, texts))]
        yield from found
        left = found + left


def _class(name: str, used: _Base, path: str, texts: Mapping[str, str]) -> _Base | None:
    """The class that a name of a file stands for. Of another file the classes are looked at, not its imports."""
    for node in used.tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return _Base(node, used.tree, used.taken)
        if isinstance(node, ast.ImportFrom) and any(one.name == name and not one.asname for one in node.names):
            other = None if used.taken else imported_file(path, node, texts)
            tree = parsed(texts[other]) if other else None
            return _class(name, _Base(used.node, tree, node), other, texts) if other and tree else None
    return None


def _belongs(test: Function) -> bool:
    """Whether the test means something else outside of its class: it uses `super()`, or a name of this class alone."""
    names = [one.attr for one in ast.walk(test) if isinstance(one, ast.Attribute)] + names_in(test)
    return any(name == "super" or (name.startswith("__") and not name.endswith("__")) for name in names)


def _lacking(test: Function, base: _Base, tree: ast.Module) -> dict[str, ast.ImportFrom]:
    """Imports of the names that the test uses from the file of its class, and that the file of the tests lacks."""
    if base.taken is None:
        return {}
    here, there = ({name for node in one.body for name in bound(node)} for one in (tree, base.tree))
    return {
        name: ast.ImportFrom(base.taken.module, [ast.alias(name)], base.taken.level)
        for name in names_in(test) if name in there - here
    }  # fmt: skip
