"""Imports of a test file that begin at its own package, as imports by whole names: what is cut out of the file runs in
no package. Tests that lie in the package that they test import it so."""

import ast
import posixpath
from collections.abc import Callable, Container

from selfplay.oracle.behaviour.inherited_tests import imported_file
from selfplay.oracle.rewriting.python_trees import Unwritable, parsed, unparsed
from selfplay.patches.classify import is_test_file

There = Callable[[str], bool]
"""Whether a path of the original exists."""


def package_of(path: str, there: There) -> str:
    """The package in which a file lies, as Python names it; empty for a file in none."""
    found, folder = list[str](), posixpath.dirname(path)
    while folder and there(f"{folder}/__init__.py"):
        found.append(posixpath.basename(folder))
        folder = posixpath.dirname(folder)
    return ".".join(reversed(found))


class PathsOfTests:
    """All paths that are tests by their names."""

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and is_test_file(path)


def absolute_text(text: str, path: str, there: There) -> str:
    """The text of a test file whose imports have whole names, but those from other test files; as it is where it cannot
    be parsed, or has none."""
    tree, package = parsed(text), package_of(path, there)
    if tree is None or not package:
        return text
    make_absolute(tree, path, PathsOfTests(), package)
    try:
        return unparsed(tree)
    except Unwritable:
        return text


def make_absolute(tree: ast.Module, path: str, others: Container[str], package: str) -> None:
    """Give the imports of a test file in this package whole names, but those from other test files (`others`) and those
    from outside the package, which stay as they are. Changes the tree."""
    parts = package.split(".") if package else []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and 0 < node.level <= len(parts) and not imported_file(path, node, others):
            above = parts[: len(parts) - node.level + 1]
            node.module, node.level = ".".join([*above, *([node.module] if node.module else [])]), 0
