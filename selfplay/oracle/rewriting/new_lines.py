"""Which lines of a prediction's files are new: those, as Python writes them, that neither the original nor the buggy
program has in a function of this name. So code that is moved to another file is not new. Of several equal lines of a
function those are new that stand where no known program has one."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache

from selfplay.oracle.rewriting.python_trees import Function, parsed, unparsed
from selfplay.patches.line_diff import opcodes

Line = tuple[str, str]
"""(the function or class around it, line)"""
Lines = Counter[Line]


@dataclass(frozen=True)
class KnownLines:
    """What is not new: so many of each line, and the lines of each known file, in order."""

    counts: Lines = field(default_factory=Lines)
    orders: tuple[tuple[Line, ...], ...] = ()


def written(text: str, known: KnownLines) -> tuple[ast.Module, list[str], set[int]] | None:
    """(the tree of a file as Python writes it, its lines, the numbers of those that are not `known`); None if it cannot
    be parsed. Raises `RecursionError` for a file that is nested too deeply, or cannot be written."""
    tree = parsed(text)
    anew = unparsed(tree) if tree is not None else ""
    tree = parsed(anew) if tree is not None else None
    return None if tree is None else (tree, anew.split("\n"), fresh_lines(anew, known))


@lru_cache(maxsize=16)
def ordered_lines(text: str) -> tuple[Line, ...]:
    """The lines of a file, as Python writes them; none if it cannot be parsed. Several layers ask for the same ones.
    Raises `RecursionError`."""
    tree = parsed(text)
    return tuple(_lines(unparsed(tree))) if tree is not None else ()


def lines_of(text: str) -> Lines:
    """The number of each line of a file. Raises `RecursionError`."""
    return Counter(ordered_lines(text))


def fresh_lines(written: str, known: KnownLines) -> set[int]:
    """The numbers of the lines that are not `known`."""
    lines = _lines(written)
    places = dict[Line, list[int]]()
    for number, line in enumerate(lines, 1):
        places.setdefault(line, []).append(number)
    several = {line for line, numbers in places.items() if 0 < known.counts[line] < len(numbers)}
    there = _where_known(lines, known.orders, {around for around, _ in several}) if several else set()
    fresh = set[int]()
    for line, numbers in places.items():
        more = len(numbers) - known.counts[line]
        if more > 0:
            fresh |= {*sorted(numbers, key=lambda number: (number not in there, number))[-more:]}
    return fresh


def _where_known(lines: Sequence[Line], orders: Sequence[Sequence[Line]], functions: Set[str]) -> set[int]:
    """The numbers of the lines of these functions that stand where a known file has them."""
    there, own = set[int](), _by_function(lines, functions)
    for order in orders:
        for around, theirs in _by_function(order, functions).items():
            numbers = list(own[around])
            for kind, start, end, *_ in opcodes([*own[around].values()], [*theirs.values()]):
                there.update(numbers[start:end] if kind == "equal" else ())
    return there


def _by_function(lines: Sequence[Line], functions: Set[str]) -> dict[str, dict[int, str]]:
    """The lines of each of these functions, by their numbers."""
    found = dict[str, dict[int, str]]()
    for number, (around, line) in enumerate(lines, 1):
        if around in functions:
            found.setdefault(around, {})[number] = line
    return found


def _lines(written: str) -> list[Line]:
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
