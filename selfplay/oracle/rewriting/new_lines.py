"""Which lines of a prediction's files are new: those, as Python writes them, that neither the original nor the buggy
program has in a function of this name. So code that is moved to another file is not new."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from selfplay.oracle.rewriting.python_trees import Function, parsed, unparsed

Lines = Counter[tuple[str, str]]
"""(the function or class around it, line) of lines, with their number."""


def written(text: str, known: Lines) -> tuple[ast.Module, list[str], set[int]] | None:
    """(the tree of a file as Python writes it, its lines, the numbers of those that are not `known`); None if it cannot
    be parsed. Raises `RecursionError` for a file that is nested too deeply, or cannot be written."""
    tree = parsed(text)
    anew = unparsed(tree) if tree is not None else ""
    tree = parsed(anew) if tree is not None else None
    return None if tree is None else (tree, anew.split("\n"), fresh_lines(anew, known))


@lru_cache(maxsize=16)
def lines_of(text: str) -> Lines:
    """The lines of a file, as Python writes them, which callers must not change; none if it cannot be parsed. Several
    layers ask for the same ones. Raises `RecursionError`."""
    tree = parsed(text)
    return Counter(_lines(unparsed(tree))) if tree is not None else Counter()


def fresh_lines(written: str, known: Lines) -> set[int]:
    """The numbers of the lines that are not `known`."""
    left, fresh = known.copy(), set[int]()
    for number, line in enumerate(_lines(written), 1):
        left[line] -= 1
        if left[line] < 0:
            fresh.add(number)
    return fresh


def _lines(written: str) -> list[tuple[str, str]]:
    """(the function or class around it, line) of each line, in order."""
    lines, tree = written.split("\n"), parsed(written)
    around = [""] * len(lines)
    for name, node in scopes(tree) if tree is not None else ():
        for at in range(node.lineno - 1, min(node.end_lineno or node.lineno, len(lines))):
            around[at] = name
    return list(zip(around, lines, strict=True))


def scopes(node: ast.AST, around: str = "") -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """Functions and classes by their path of names, the outer ones first."""
    for child in ast.iter_child_nodes(node):
        name = around
        if isinstance(child, Function | ast.ClassDef):
            name = f"{around}.{child.name}"
            yield name, child
        yield from scopes(child, name)
