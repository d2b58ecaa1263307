"""Mutations of subtle logic for the direct strategy: order, default, state, error path, encoding, aliasing, boundary.

Each is a typical mistake: `rstrip` for `lstrip`, another default, `=` for `+=`, `TypeError` for
`ValueError`, a list itself for its copy. The names and the syntax stay whole.
"""

import ast
from collections.abc import Iterator, Sequence

from selfplay.scripted.edits.cuts import Cut, replaced
from selfplay.scripted.edits.names import Function

ENDS = {
    "startswith": "endswith", "lstrip": "rstrip", "find": "rfind", "index": "rindex", "split": "rsplit",
    "partition": "rpartition", "popleft": "pop", "appendleft": "append", "removeprefix": "removesuffix",
    "bisect_left": "bisect_right",
}  # fmt: skip
"""Pairs of methods that work at opposite ends or in opposite orders."""
ENDS |= {other: one for one, other in ENDS.items() if one not in ("popleft", "appendleft")}
ORDERS = {"min": "max", "max": "min", "any": "all", "all": "any"}
ERRORS = {
    "ValueError": "TypeError", "TypeError": "ValueError", "KeyError": "IndexError", "IndexError": "KeyError",
    "AttributeError": "KeyError", "OSError": "ValueError",
}  # fmt: skip
ENCODINGS = {"utf-8": "latin-1", "utf8": "latin-1", "latin-1": "ascii", "strict": "ignore", "replace": "ignore"}
COPIES = frozenset(["list", "dict", "set", "copy", "deepcopy"])


def subtle_cuts(function: Function, lines: Sequence[str]) -> Iterator[Cut]:
    """The mutations of a function, each on one line."""
    for default in [*function.args.defaults, *(d for d in function.args.kw_defaults if d)]:
        yield from _default(default, lines)
    for statement in function.body:
        for node in ast.walk(statement):
            if getattr(node, "lineno", 0) == getattr(node, "end_lineno", -1):
                yield from _of(node, lines)
            elif isinstance(node, ast.ExceptHandler) and node.type is not None:
                yield from _error(node.type, lines)


def _of(node: ast.AST, lines: Sequence[str]) -> Iterator[Cut]:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="copy"), args=[], keywords=[]):
            yield _part(node, value, lines)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Name() | ast.Attribute() as value],
                      keywords=[]) if name in COPIES:  # fmt: skip
            yield _part(node, value, lines)
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=None), ctx=ast.Load()):
            yield _part(node, value, lines)
        case ast.Call(func=ast.Attribute(attr="get"), args=[key, default]):
            yield _span(node, key.end_col_offset, default.end_col_offset, "", "left out a default", lines)
        case ast.Call(func=ast.Name(id="range"), args=[*_, ast.Name() | ast.Call() | ast.Attribute() as stop]):
            yield _span(stop, stop.end_col_offset, stop.end_col_offset, " - 1", "moved a boundary", lines)
        case ast.Call(func=ast.Attribute(attr=name) as method) if name in ENDS:
            end = method.end_col_offset or 0
            yield _span(method, end - len(name), end, ENDS[name], "took the other end", lines)
        case ast.Call(func=ast.Name(id=name) as called, args=[_, *_]) if name in ORDERS:
            yield _span(called, called.col_offset, called.end_col_offset, ORDERS[name], "took the other order", lines)
        case ast.AugAssign(target=target, op=ast.Add() | ast.BitOr()):
            yield from _state(target, node.value, lines)
        case ast.Raise(exc=ast.Call(func=ast.Name() as error) | (ast.Name() as error)):
            yield from _error(error, lines)
        case ast.Constant(value=str(said)) if said in ENCODINGS:
            yield from _text(node, ENCODINGS[said], "changed an encoding", lines)


def _part(node: ast.expr, part: ast.expr, lines: Sequence[str]) -> Cut:
    text = lines[part.lineno - 1].encode()[part.col_offset : part.end_col_offset].decode()
    return _span(node, node.col_offset, node.end_col_offset, text, "left out a copy", lines)


def _state(target: ast.expr, value: ast.expr, lines: Sequence[str]) -> Iterator[Cut]:
    """`=` in place of an augmented assignment."""
    start, end = target.end_col_offset or 0, value.col_offset
    gap = lines[value.lineno - 1].encode()[start:end]
    if gap.strip() in (b"+=", b"|="):
        yield _span(value, start, end, " = ", "set what was added to", lines)


def _error(error: ast.expr, lines: Sequence[str]) -> Iterator[Cut]:
    match error:
        case ast.Name(id=name) if name in ERRORS:
            yield _span(error, error.col_offset, error.end_col_offset, ERRORS[name], "changed an error", lines)
        case ast.Tuple(elts=[first, _, *_]) if error.lineno == error.end_lineno == first.lineno:
            text = lines[first.lineno - 1].encode()[first.col_offset : first.end_col_offset].decode()
            yield _span(error, error.col_offset, error.end_col_offset, text, "left out an error", lines)


def _default(default: ast.expr, lines: Sequence[str]) -> Iterator[Cut]:
    match default:
        case ast.Constant(value=bool(value)):
            yield from _text(default, repr(not value), "changed a default", lines, quote="")
        case ast.Constant(value=int(value)):
            yield from _text(default, repr(value + 1), "changed a default", lines, quote="")


def _text(node: ast.Constant, text: str, what: str, lines: Sequence[str], quote: str = '"') -> Iterator[Cut]:
    here = lines[node.lineno - 1].encode()[node.col_offset : node.end_col_offset]
    if here in (repr(node.value).encode(), f'"{node.value!s}"'.encode()):  # in f-strings, 3.11 reports wrong places
        quote = quote and chr(here[0])
        yield _span(node, node.col_offset, node.end_col_offset, f"{quote}{text}{quote}", what, lines)


def _span(node: ast.expr, start: int | None, end: int | None, text: str, what: str, lines: Sequence[str]) -> Cut:
    return replaced(node.lineno, start or 0, end or 0, text, what, lines)
