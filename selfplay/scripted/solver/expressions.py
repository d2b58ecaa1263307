"""Repairs of single expressions: operators, conditions, constants, negations, names. They revert what the direct
strategy breaks, and fix some other common mistakes."""

import ast
import re
from collections.abc import Iterator, Sequence

from selfplay.python_source import syntax_tree
from selfplay.scripted.edits.cuts import Cut
from selfplay.scripted.edits.names import parameters
from selfplay.scripted.solver.evidence import CodePlace, Evidence
from selfplay.scripted.solver.repair import Repair

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">", ">=")),
    ast.LtE: ("<=", ("<", ">=", ">")),
    ast.Gt: (">", (">=", "<", "<=")),
    ast.GtE: (">=", (">", "<=", "<")),
    ast.Eq: ("==", ("!=", "in")),
    ast.NotEq: ("!=", ("==", "not in")),
    ast.In: ("in", ("not in", "==")),
    ast.NotIn: ("not in", ("in", "!=")),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
}
OPERATORS: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-", "*")),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("//", "+", "**")),
    ast.Div: ("/", ("//", "*")),
    ast.FloorDiv: ("//", ("%", "/", "*")),
    ast.Mod: ("%", ("//",)),
    ast.BitAnd: ("&", ("|", "^")),
    ast.BitOr: ("|", ("&",)),
    ast.LShift: ("<<", (">>",)),
    ast.RShift: (">>", ("<<",)),
    ast.Pow: ("**", ("*",)),
}
MOST_NAMES = 100
"""How many names of a function are tried in place of one another."""
Piece = tuple[str, str, float]
"""The new text of a piece of source, what it does, its weight."""


def expression_repairs(evidence: Evidence, place: CodePlace) -> Iterator[Repair]:
    """Changes of those expressions in this function that failing tests run."""
    lines = evidence.lines(place.path)
    names = _names(place)
    for node in ast.walk(place.function):
        if isinstance(node, ast.AugAssign):
            yield from _augmented(evidence, place, node, lines)
        if not isinstance(node, ast.expr) or node.end_lineno is None:
            continue
        weight = evidence.suspicion(place.path, node.lineno, node.end_lineno)
        if weight == 0:
            continue
        boost = 0.6 + 0.4 * min(1.0, place.suspicion)
        for cut, kind, worth in _cuts(node, lines, names):
            if cut.lines != (lines[cut.start - 1].rstrip("\n"),):
                yield Repair(((place.path, cut),), kind, weight * worth * boost, cut.what)


def _augmented(evidence: Evidence, place: CodePlace, node: ast.AugAssign, lines: Sequence[str]) -> Iterator[Repair]:
    """`+=` for `-=` and the like."""
    old, others = OPERATORS.get(type(node.op), ("", ()))
    weight = evidence.suspicion(place.path, node.lineno, node.lineno)
    for at, new in enumerate(others if weight else ()):
        for cut, kind, worth in _between(node.target, node.value, f"{old}=", f"{new}=", "operator", 0.9, lines):
            yield Repair(((place.path, cut),), kind, weight * worth / (1 + at), cut.what)


def _names(place: CodePlace) -> list[str]:
    read = [node.id for node in ast.walk(place.function) if isinstance(node, ast.Name)]
    return list(dict.fromkeys([*parameters(place.function), *read]))[:MOST_NAMES]


def _cuts(node: ast.expr, lines: Sequence[str], names: Sequence[str]) -> Iterator[tuple[Cut, str, float]]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            old, others = COMPARISONS[type(operator)]
            for at, new in enumerate(others):
                yield from _between(left, right, old, new, "comparison", 1.0 / (1 + at), lines)
        case ast.BinOp(left=left, op=binary, right=right) if type(binary) in OPERATORS:
            old, others = OPERATORS[type(binary)]
            for at, new in enumerate(others):
                yield from _between(left, right, old, new, "operator", 0.9 / (1 + at), lines)
        case ast.BoolOp(op=joint, values=[left, right]):
            words = ("and", "or") if isinstance(joint, ast.And) else ("or", "and")
            yield from _between(left, right, *words, "condition", 1.0, lines)
            yield from _whole(node, [(_text(part, lines), "dropped an operand", 0.3) for part in (left, right)], lines)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _whole(node, [(_text(operand, lines), "dropped a negation", 0.8)], lines, "negation")
    yield from _leaves(node, lines, names)
    yield from _negated(node, lines)


def _leaves(node: ast.expr, lines: Sequence[str], names: Sequence[str]) -> Iterator[tuple[Cut, str, float]]:
    match node:
        case ast.Constant(value=bool(flag)):
            yield from _whole(node, [(repr(not flag), "flipped a constant", 1.0)], lines, "constant")
        case ast.Constant(value=int(number)):
            pieces: list[Piece] = [(str(number - 1), "one less", 0.9), (str(number + 1), "one more", 0.4)]
            pieces += [("0", "zero", 0.15), (f"-{number}", "other sign", 0.2)]
            yield from _whole(node, [piece for piece in pieces if piece[0] != str(number)], lines, "constant")
        case ast.Constant(value=None):
            yield from _whole(node, [(name, f"{name} for None", 0.15) for name in names[:6]], lines, "name")
        case ast.Name(id=name, ctx=ast.Load()):
            others = [other for other in names if other != name]
            near = sorted(others, key=lambda other: -_alike(name, other))[:3]
            yield from _whole(node, [(other, f"{other} for {name}", 0.12) for other in near], lines, "name")


def _negated(node: ast.expr, lines: Sequence[str]) -> Iterator[tuple[Cut, str, float]]:
    """Put a `not` in front, where a truth value is probably expected."""
    worth = 0.0
    match node:
        case ast.Call() | ast.Name() | ast.Attribute():
            worth = 0.3
    if worth and _is_tested(node, lines):
        yield from _whole(node, [(f"not {_text(node, lines)}", "negated", 0.8)], lines, "negation")


def _is_tested(node: ast.expr, lines: Sequence[str]) -> bool:
    """Whether the text before it ends in a word that is followed by a truth value."""
    before = lines[node.lineno - 1].encode()[: node.col_offset].decode("utf-8", "replace")
    return re.search(r"\b(if|elif|while|and|or|return)\s*\(?$", before) is not None


def _alike(one: str, other: str) -> float:
    """How much two names share: a common beginning, a common end, length."""
    common = sum(1 for a, b in zip(one, other, strict=False) if a == b)
    return common + (one[-1:] == other[-1:]) - abs(len(one) - len(other)) / 4


def _text(node: ast.expr, lines: Sequence[str]) -> str:
    if node.lineno != node.end_lineno:
        return ast.unparse(node)
    data = lines[node.lineno - 1].encode("utf-8", "surrogateescape")
    return data[node.col_offset : node.end_col_offset].decode("utf-8", "surrogateescape")


def _whole(
    node: ast.expr, pieces: Sequence[Piece], lines: Sequence[str], kind: str = "condition"
) -> Iterator[tuple[Cut, str, float]]:
    """Replace the expression, if it is on one line and the parser's columns are right (they are wrong in f-strings)."""
    if node.lineno != node.end_lineno:
        return
    try:
        if ast.dump(syntax_tree(_text(node, lines), mode="eval").body) != _loaded(node):
            return
    except (SyntaxError, ValueError):
        return
    for text, what, worth in pieces:
        yield _replaced(node.lineno, node.col_offset, node.end_col_offset or 0, text, what, lines), kind, worth


def _loaded(node: ast.expr) -> str:
    return ast.dump(node)


def _between(
    left: ast.expr, right: ast.expr, old: str, new: str, kind: str, worth: float, lines: Sequence[str]
) -> Iterator[tuple[Cut, str, float]]:
    """Replace the operator between two operands, if both are on one line or the operator begins the second one's
    line."""
    if left.end_lineno is None or left.end_col_offset is None:
        return
    for number in range(left.end_lineno, right.lineno + 1):
        data = lines[number - 1].encode("utf-8", "surrogateescape")
        start = left.end_col_offset if number == left.end_lineno else 0
        end = right.col_offset if number == right.lineno else len(data.rstrip())
        gap = data[start:end].decode("utf-8", "surrogateescape")
        if gap.count(old) == 1 and "#" not in gap:
            yield _replaced(number, start, end, gap.replace(old, new), f"{new} for {old}", lines), kind, worth


def _replaced(number: int, start: int, end: int, text: str, what: str, lines: Sequence[str]) -> Cut:
    """The line with its bytes `start`..`end` replaced (the parser counts columns in UTF-8 bytes)."""
    data = lines[number - 1].rstrip("\n").encode("utf-8", "surrogateescape")
    line = (data[:start] + text.encode("utf-8", "surrogateescape") + data[end:]).decode("utf-8", "surrogateescape")
    return Cut(number, number, (line,), what)
