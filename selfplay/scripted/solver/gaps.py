"""Gaps: the places of a function between two statements, where code may be missing."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from selfplay.scripted.edits.cuts import first_line, indent_of
from selfplay.scripted.edits.names import Function, bound_by, parameters, without_docstring
from selfplay.scripted.solver.evidence import CodePlace, Evidence
from selfplay.scripted.solver.guards import blocks, starts_line

MOST_GAPS = 200
"""How many gaps of one function are filled."""


@dataclass(frozen=True)
class Gap:
    """A place between two statements: code is inserted before line `line` at `indent`; `replaces` a lone `pass`."""

    line: int
    indent: str
    before: str
    after: str
    bound: frozenset[str]
    loop: bool
    last: bool
    suspicion: float
    replaces: bool = False


def gaps_of(evidence: Evidence, place: CodePlace) -> list[Gap]:
    """The gaps of a function in order; if there are too many, the most suspicious ones."""
    gaps = list(_every_gap(evidence, place))
    if len(gaps) <= MOST_GAPS:
        return gaps
    return sorted(gaps, key=lambda gap: -gap.suspicion)[:MOST_GAPS]


def _every_gap(evidence: Evidence, place: CodePlace) -> Iterator[Gap]:
    lines, function = evidence.lines(place.path), place.function
    binders = _binders(function)
    for block, loop in blocks(function):
        statements = without_docstring(block)
        if not statements:
            yield _end_gap(evidence, place, block[-1], frozenset(parameters(function)), lines)
            continue
        for at, statement in enumerate(statements):
            line = first_line(statement)
            if not starts_line(statement, lines):
                continue
            bound = _bound_before(place, binders, line)
            score = max(
                evidence.suspicion(place.path, line, line), 0.5 * evidence.suspicion(place.path, line - 3, line)
            )
            if score == 0:
                continue
            before = shape(statements[at - 1]) if at else ""
            alone = isinstance(statement, ast.Pass)
            indent = indent_of(lines[line - 1])
            yield Gap(line, indent, before, "" if alone else shape(statement), bound, loop, False, score, alone)
        if starts_line(statements[-1], lines) and not exits(statements[-1]):
            yield _end_gap(evidence, place, statements[-1], _bound_before(place, binders, 10**9), lines, loop)


def _end_gap(
    evidence: Evidence,
    place: CodePlace,
    last: ast.stmt,
    bound: frozenset[str],
    lines: Sequence[str],
    loop: bool = False,
) -> Gap:
    end = last.end_lineno or last.lineno
    score = max(evidence.suspicion(place.path, first_line(last), end), 0.3 * place.suspicion)
    text = isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    return Gap(
        end + 1, indent_of(lines[first_line(last) - 1]), "" if text else shape(last), "", bound, loop, True, score
    )


def _binders(function: Function) -> list[tuple[int, str]]:
    """(line, name) for every name that the function binds, apart from its parameters."""
    return [
        (node.lineno, name)
        for node in ast.walk(function)
        if node is not function and isinstance(node, ast.stmt | ast.expr | ast.excepthandler | ast.pattern)
        for name in bound_by(node)
    ]


def _bound_before(place: CodePlace, binders: Sequence[tuple[int, str]], line: int) -> frozenset[str]:
    return frozenset({*parameters(place.function), *(name for at, name in binders if at < line)})


def exits(statement: ast.stmt) -> bool:
    """Whether nothing after it in its block runs."""
    return isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break)


def shape(statement: ast.stmt) -> str:
    """The statement's source without variable parts: enough to see that two statements do the same thing."""
    return re.sub(r"'[^']*'", "''", ast.unparse(statement))[:200]
