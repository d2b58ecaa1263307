"""Repairs that add a small statement: a guard before a crash, a return of the computed value, an early exit."""

import ast
from collections.abc import Iterator, Sequence

from selfplay.scripted.edits.cuts import Cut, first_line, indent_of
from selfplay.scripted.edits.names import CodeNames, parameters, without_docstring
from selfplay.scripted.solver.evidence import CodePlace, Evidence
from selfplay.scripted.solver.repair import Repair

DEFAULTS = ("None", "False", "True", "''", "[]", "0", "{}")


def guard_repairs(evidence: Evidence, place: CodePlace) -> Iterator[Repair]:
    """Guards and returns in a suspicious function."""
    lines = evidence.lines(place.path)
    outs = early_exits(place)
    for block, loop in blocks(place.function):
        yield from _guards(evidence, place, block, loop, outs, lines)
    yield from _returns(place, lines)


def early_exits(place: CodePlace) -> list[str]:
    """What a guard may do: first what the function returns elsewhere, then the usual empty values."""
    values = [
        ast.unparse(node.value) if node.value else ""
        for node in ast.walk(place.function)
        if isinstance(node, ast.Return)
    ]
    short = [value for value in dict.fromkeys(values) if len(value) < 40]
    return list(dict.fromkeys([*(f"return {value}".strip() for value in short), "return"]))[:4]


def blocks(function: ast.AST, in_loop: bool = False) -> Iterator[tuple[list[ast.stmt], bool]]:
    """Every list of statements in a function, and whether it is part of a loop."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(function, field, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            looping = in_loop or (field == "body" and isinstance(function, ast.For | ast.While))
            yield block, looping
            for statement in block:
                if not isinstance(statement, ast.ClassDef):
                    yield from blocks(statement, looping)
    for handler in getattr(function, "handlers", ()):
        yield from blocks(handler, in_loop)


def _guards(
    evidence: Evidence, place: CodePlace, block: list[ast.stmt], loop: bool, outs: Sequence[str], lines: Sequence[str]
) -> Iterator[Repair]:
    """Before a statement that failing tests run: exit when a name that it reads is empty."""
    for statement in without_docstring(block):
        at = first_line(statement)
        weight = evidence.suspicion(place.path, at, at)
        crash = any(
            frame[0] == place.path and at <= frame[1] <= (statement.end_lineno or at)
            for failing in evidence.failing
            for frame in failing.frames[-2:]
        )
        if weight == 0 or not starts_line(statement, lines):
            continue
        indent = indent_of(lines[at - 1])
        for n, name in enumerate(names_read(statement)[:4]):
            for test in (f"{name} is None", f"not {name}"):
                for m, out in enumerate([*(["continue"] if loop else []), *outs]):
                    worth = (0.6 if crash else 0.25) / (1 + 0.3 * n) / (1 + 0.4 * m)
                    cut = Cut(at, at - 1, (f"{indent}if {test}:", f"{indent}    {out}"), f"guard against {test}")
                    yield Repair(((place.path, cut),), "guard", weight * worth, cut.what)


def names_read(statement: ast.stmt) -> list[str]:
    """Names and attributes of `self` that a statement reads before anything in it, in source order."""
    found = []
    heads = [getattr(statement, field, None) for field in ("test", "iter", "value", "exc")]
    roots = [head for head in heads if isinstance(head, ast.AST)] or [statement]
    for root in roots:
        for node in ast.walk(root):
            match node:
                case ast.Name(id=name, ctx=ast.Load()) if name not in ("self", "cls"):
                    found.append(name)
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    found.append(f"self.{name}")
    called = {ast.unparse(node.func) for root in roots for node in ast.walk(root) if isinstance(node, ast.Call)}
    return [name for name in dict.fromkeys(found) if name not in called]


def _returns(place: CodePlace, lines: Sequence[str]) -> Iterator[Repair]:
    """Return what the function computed, or a plausible constant, at its end."""
    body = without_docstring(place.function.body)
    if not body or isinstance(body[-1], ast.Raise) or not starts_line(body[-1], lines):
        return
    last, indent = body[-1], indent_of(lines[first_line(body[-1]) - 1])
    end = last.end_lineno or last.lineno
    names = CodeNames(place.function)
    unread = [name for name in names.bound if name not in names.read]
    candidates = [*unread, *names.bound, *parameters(place.function), *DEFAULTS]
    returned = ast.unparse(last.value) if isinstance(last, ast.Return) and last.value else ""
    start = first_line(last) if isinstance(last, ast.Return | ast.Pass) else end + 1
    for n, value in enumerate(dict.fromkeys(candidates)):
        if value == returned or (not isinstance(last, ast.Return) and value == "None"):
            continue
        worth = (0.7 if value in unread else 0.35) / (1 + 0.15 * n)
        cut = Cut(start, end, (f"{indent}return {value}",), f"return {value}")
        yield Repair(((place.path, cut),), "return", place.suspicion * worth, cut.what)


def starts_line(statement: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether the statement is the first on its line, and not an `elif`."""
    first = first_line(statement)
    before = lines[first - 1].encode()[: statement.col_offset]
    word = lines[first - 1].lstrip()
    return (not before.strip() or word.startswith("@")) and not word.startswith("elif")
