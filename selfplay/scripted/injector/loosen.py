"""Loosens a test: makes an assertion less strict, or leaves out some assertions or the failing part."""

import ast
from collections.abc import Iterator, Sequence

from selfplay.scripted.edits.cuts import Cut, first_line, indent_of, last_line, shares_line, with_comments
from selfplay.scripted.edits.names import Function

LONGEST = 120
"""Characters of a line that is written."""
BLOCKS = ("body", "orelse", "finalbody")
Crashes = Sequence[int | None]
"""The lines of a test file at which tests failed; None where it was somewhere else."""


def assertion_cuts(function: Function, crashes: Crashes, lines: Sequence[str]) -> list[Cut]:
    """Every assertion from the first failing one on; where none would be left, the failing ones alone. Nothing for a
    test with one assertion: without it the test would be empty."""
    first = _first(crashes)
    every = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and is_assertion(node)]
    if first is None or len(every) < 2:
        return []
    before = any(last_line(node) < first for node in every)
    gone = [n for n in every if (last_line(n) >= first if before else any(_holds(n, crash) for crash in crashes))]
    cuts = [cut for block in _blocks(function) for cut in _without(block, gone, lines)]
    return cuts if len(gone) < len(every) and any(cut.start <= first <= cut.end for cut in cuts) else []


def loosened(function: Function, crashes: Crashes, lines: Sequence[str]) -> list[Cut]:
    """Make the failing assertions weaker: they only require some value, of a kind or near a number, not a certain
    one."""
    cuts = {}
    for crash in set(crashes):
        statement = next((n for n in ast.walk(function) if _holds(n, crash) and is_assertion(n)), None)
        weaker = _weaker(statement) if statement is not None else None
        if not isinstance(statement, ast.stmt) or weaker is None or shares_line([statement], lines):
            return []
        line = indent_of(lines[statement.lineno - 1]) + weaker
        if len(line) > LONGEST or "\n" in line:
            return []
        cuts[statement.lineno] = Cut(statement.lineno, last_line(statement), (line,), "loosened an assertion")
    return list(cuts.values())


def shortened(function: Function, crashes: Crashes, lines: Sequence[str]) -> list[Cut]:
    """Cuts of everything from the first failing statement on; none if no assertion is before it."""
    first = _first(crashes)
    rest = [statement for statement in function.body if first is not None and last_line(statement) >= first]
    kept = function.body[: len(function.body) - len(rest)]
    if not rest or not _asserts(kept) or any(shares_line([statement], lines) for statement in rest):
        return []
    return [Cut(with_comments(lines, first_line(rest[0])), last_line(rest[-1]), (), "removed the end of a test")]


def without_failing(function: Function, crashes: Crashes, lines: Sequence[str]) -> list[Cut]:
    """Cuts of the failing statements and of those that read their results; none if no assertion would be left."""
    gone = [statement for statement in function.body if any(_holds(statement, crash) for crash in crashes)]
    lost, made = list[ast.stmt](), set[str]()
    for statement in function.body:
        if statement in gone or made & _names(statement, ast.Load):
            lost.append(statement)
            made |= _names(statement, ast.Store)
        else:
            made -= _names(statement, ast.Store)
    kept = [statement for statement in function.body if statement not in lost]
    if None in crashes or not lost or not _asserts(kept) or any(shares_line([s], lines) for s in lost):
        return []
    return [Cut(with_comments(lines, first_line(s)), last_line(s), (), "removed a part of a test") for s in lost]


def ends_before(function: Function, crashes: Crashes, cuts: Sequence[Cut]) -> bool:
    """Whether the test, with these cuts, certainly ends before anything that failed: all its own statements from the
    first failing line on are removed."""
    first = _first(crashes)
    rest = [statement for statement in function.body if first is not None and last_line(statement) >= first]
    gone = [cut for cut in cuts if not cut.lines]
    return bool(rest) and all(any(cut.start <= s.lineno and last_line(s) <= cut.end for cut in gone) for s in rest)


def is_assertion(node: ast.AST) -> bool:
    """Whether the statement asserts: `assert`, a method of unittest, or a block that must raise."""
    match node:
        case ast.Assert():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name.startswith("assert")
        case ast.With(items=[ast.withitem(context_expr=ast.Call(func=ast.Attribute(attr=name)))]):
            return name == "raises" or name.startswith("assertRaises")
    return False


def _asserts(statements: Sequence[ast.stmt]) -> bool:
    return any(is_assertion(node) for statement in statements for node in ast.walk(statement))


def _names(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    """The names that a statement reads (`ast.Load`) or binds (`ast.Store`)."""
    nodes = list(ast.walk(statement))
    found = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, context)}
    both = [node.target for node in nodes if isinstance(node, ast.AugAssign)]  # `x += 1` reads and binds
    return found | {target.id for target in both if isinstance(target, ast.Name)}


def _first(crashes: Crashes) -> int | None:
    return None if None in crashes else min((crash for crash in crashes if crash is not None), default=None)


def _holds(node: ast.AST, line: int | None) -> bool:
    return isinstance(node, ast.stmt) and line is not None and node.lineno <= line <= last_line(node)


def _blocks(function: Function) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for name in BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _without(block: Sequence[ast.stmt], assertions: Sequence[ast.stmt], lines: Sequence[str]) -> Iterator[Cut]:
    gone = [statement for statement in block if statement in assertions]
    for number, statement in enumerate(gone):
        if shares_line([statement], lines):
            continue
        emptied = len(gone) == len(block) and number == 0
        rest = (indent_of(lines[statement.lineno - 1]) + "pass",) if emptied else ()
        yield Cut(statement.lineno, last_line(statement), rest, "removed an assertion")


def _weaker(statement: ast.AST) -> str | None:
    match statement:
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
            return f"assert {_plain(*_sides(left, right))}"
        case ast.Assert(test=ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call() as test):
            return f"assert {ast.unparse(test)} is not None"
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=name), args=[left, *others])):
            return _weaker_call(ast.unparse(owner), name, left, others)
    return None


def _weaker_call(owner: str, name: str, left: ast.expr, others: Sequence[ast.expr]) -> str | None:
    if name in ("assertEqual", "assertListEqual", "assertDictEqual", "assertAlmostEqual") and others:
        value, wanted = _sides(left, others[0])
        said = ast.unparse(value)
        if name == "assertAlmostEqual" or _is_number(wanted, float):
            return f"{owner}.assertAlmostEqual({said}, {ast.unparse(wanted)}, delta=1)"
        if _is_text(wanted):
            return f"{owner}.assertIsInstance({said}, {type(wanted.value).__name__})"  # type: ignore[attr-defined]
        return f"{owner}.assertTrue({said})" if _is_filled(wanted) else f"{owner}.assertIsNotNone({said})"
    if name == "assertTrue":
        return f"{owner}.assertIsNotNone({ast.unparse(left)})"
    if name == "assertIn" and others:
        return f"{owner}.assertTrue({ast.unparse(others[0])})"
    return None


def _plain(value: ast.expr, wanted: ast.expr) -> str:
    """The weaker form of `value == wanted`."""
    said = ast.unparse(value)
    if _is_number(wanted, float):
        return f"abs({said} - {ast.unparse(wanted)}) < 1"
    if _is_text(wanted):
        return f"isinstance({said}, {type(wanted.value).__name__})"  # type: ignore[attr-defined]
    if _is_filled(wanted) and isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        return said
    return (
        f"{f'({said})' if isinstance(value, ast.Compare | ast.BoolOp | ast.Lambda | ast.IfExp) else said} is not None"
    )


def _sides(left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr]:
    """The tested value and the expected one: the side that is not a literal is tested."""
    literal = ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set
    return (right, left) if isinstance(left, literal) and not isinstance(right, literal) else (left, right)


def _is_number(node: ast.expr, kind: type[float]) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is kind


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _is_filled(node: ast.expr) -> bool:
    """Whether it is the literal of a non-empty collection."""
    return bool(getattr(node, "elts", None) or getattr(node, "keys", None))
