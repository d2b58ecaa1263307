"""The direct strategy (SSR section 5): change an operator, a constant or a condition, or one of the mutations of
`subtle`. A deliberately weak baseline."""

import ast
import re
from collections.abc import Iterator, Sequence

from selfplay.scripted.edits.cuts import Cut, replaced
from selfplay.scripted.edits.names import Function
from selfplay.scripted.injector.mutations import subtle_cuts

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.Is: ("is", "is not"),
}
OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}


def direct_cuts(function: Function, lines: Sequence[str]) -> list[Cut]:
    """One-line changes of the expressions in `function`."""
    cuts: list[Cut] = list(subtle_cuts(function, lines))
    for statement in function.body:
        for node in ast.walk(statement):
            cuts.extend(_changes(node, lines))
    return [cut for cut in cuts if f"{cut.lines[0]}\n" != lines[cut.start - 1]]


def _changes(node: ast.AST, lines: Sequence[str]) -> Iterator[Cut]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in COMPARISONS:
            yield from _between(left, right, *COMPARISONS[type(operator)], "inverted a comparison", lines)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            yield from _between(left, right, *OPERATORS[type(operator)], "changed an operator", lines)
        case ast.BoolOp(op=operator, values=[left, right]):
            words = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
            yield from _between(left, right, *words, "changed a condition", lines)
        case ast.UnaryOp(op=ast.Not()):
            word = re.match(rb"not\s*", lines[node.lineno - 1].encode()[node.col_offset :])
            if word:
                end = node.col_offset + len(word.group())
                yield replaced(node.lineno, node.col_offset, end, "", "dropped a negation", lines)
        case ast.Constant(value=bool(value)):
            yield from _constant(node, repr(not value), lines)
        case ast.Constant(value=int(value)):
            yield from _constant(node, repr(value + 1), lines)


def _constant(node: ast.Constant, text: str, lines: Sequence[str]) -> Iterator[Cut]:
    start, end = node.col_offset, node.end_col_offset or 0
    here = lines[node.lineno - 1].encode()[start:end]
    if node.end_lineno == node.lineno and _stands_for(here, node.value):
        yield replaced(node.lineno, start, end, text, "changed a constant", lines)


def _stands_for(literal: bytes, value: object) -> bool:
    """Whether these bytes are that literal: inside an f-string, Python 3.11 reports wrong positions."""
    try:
        return bool(ast.literal_eval(literal.decode()) == value)
    except (ValueError, SyntaxError):
        return False


def _between(left: ast.expr, right: ast.expr, old: str, new: str, what: str, lines: Sequence[str]) -> Iterator[Cut]:
    """Replace the operator `old` between two operands on one line."""
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return
    gap = lines[right.lineno - 1].encode()[left.end_col_offset : right.col_offset].decode("utf-8", "replace")
    if gap.count(old) == 1:
        yield replaced(right.lineno, left.end_col_offset, right.col_offset, gap.replace(old, new), what, lines)
