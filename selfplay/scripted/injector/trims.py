"""Parts of expressions left out: an operand of a condition, a filter, an option of a call, a step of a chain.

As if the author had not thought of a case: the expression is complete but does less.
"""

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from selfplay.scripted.edits.cuts import Cut, replaced
from selfplay.scripted.edits.names import Function

STEPS = frozenset(
    ["strip", "lstrip", "rstrip", "lower", "upper", "casefold", "copy", "capitalize", "title", "expandtabs", "resolve"]
)
"""Methods without arguments whose result has the type of their object."""


def trims(function: Function, lines: Sequence[str]) -> list[Cut]:
    """The parts of expressions on one line that can be left out of a function, in source order."""
    found: list[Cut] = []
    for statement in function.body:
        for node in ast.walk(statement):
            if getattr(node, "lineno", 0) == getattr(node, "end_lineno", -1) or isinstance(node, ast.comprehension):
                found.extend(_of(node, lines))
    return [replace(cut, case=(0, 0)) for cut in found if f"{cut.lines[0]}\n" != lines[cut.start - 1]]


def _of(node: ast.AST, lines: Sequence[str]) -> Iterator[Cut]:
    match node:
        case ast.BoolOp(values=values):
            yield from (_only(node, value, "left out a condition", lines) for value in values if len(values) == 2)
        case ast.IfExp(body=body, orelse=other):
            parts = (part for part in (body, other) if not isinstance(part, ast.Name | ast.Constant))
            yield from (_only(node, part, "left out a choice", lines) for part in parts)
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[], keywords=[]) if name in STEPS:
            yield _only(node, value, f"left out .{name}()", lines)
        case ast.Call(args=args, keywords=keywords) if args or len(keywords) > 1:
            yield from _options([*args, *keywords], keywords, lines)
        case ast.comprehension(iter=source, ifs=[*conditions]) if conditions:
            yield from _filter(source, conditions, lines)


def _only(node: ast.expr, part: ast.expr, what: str, lines: Sequence[str]) -> Cut:
    """The expression replaced by a part of it, in the brackets that it may need."""
    text = lines[part.lineno - 1].encode()[part.col_offset : part.end_col_offset].decode()
    loose = isinstance(part, ast.BoolOp | ast.IfExp | ast.BinOp | ast.Compare | ast.UnaryOp | ast.Lambda)
    text = f"({text})" if loose and not isinstance(node, ast.BoolOp) else text
    start, end = node.col_offset, node.end_col_offset or 0
    line = lines[node.lineno - 1].encode()
    if not loose and re.search(rb"(^|[\s=(,])\($", line[:start]) and line[end : end + 1] == b")":
        start, end = start - 1, end + 1  # brackets that the whole needed
    return replaced(node.lineno, start, end, text, what, lines)


def _options(
    every: Sequence[ast.expr | ast.keyword], options: Sequence[ast.keyword], lines: Sequence[str]
) -> Iterator[Cut]:
    """A call without one of its options, which then has its default value."""
    for before, option in itertools.pairwise(every):
        if isinstance(option, ast.keyword) and option in options and option.arg and _after(before, option):
            start, end = before.end_col_offset or 0, option.end_col_offset or 0
            between = lines[option.lineno - 1].encode()[start : option.col_offset].strip()
            if between == b",":
                yield replaced(option.lineno, start, end, "", f"left out the option {option.arg}", lines)


def _after(before: ast.expr | ast.keyword, option: ast.keyword) -> bool:
    return before.end_lineno == option.lineno == option.end_lineno


def _filter(source: ast.expr, conditions: Sequence[ast.expr], lines: Sequence[str]) -> Iterator[Cut]:
    """A comprehension without its last condition."""
    before, last = [source, *conditions][-2:]
    if before.end_lineno == last.lineno == last.end_lineno:
        data = lines[last.lineno - 1].encode()
        start = data.rfind(b" if ", before.end_col_offset or 0, last.col_offset + 1)
        brackets = data[last.end_col_offset or 0 :][:1]
        if start >= 0 and data[start + 4 : last.col_offset].strip() == b"" and brackets in b")]}":
            yield replaced(last.lineno, start, last.end_col_offset or 0, "", "left out a filter", lines)
