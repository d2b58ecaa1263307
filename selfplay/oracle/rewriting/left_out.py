"""An expression with one of its parts left out: what mutants of an original and the parts of a patch have in common."""

import ast
from collections.abc import Iterator
from copy import copy
from typing import Any


def truths(node: ast.expr) -> Iterator[ast.expr]:
    """What stands in the place of a condition that does not matter; nothing if it is a constant."""
    if not isinstance(node, ast.Constant):
        yield from (ast.Constant(True), ast.Constant(False))


def fewer_operands(node: ast.BoolOp) -> Iterator[ast.expr]:
    """Without each operand of `and` or `or`."""
    for one in node.values:
        rest = [other for other in node.values if other is not one]
        yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def fewer_bounds(node: ast.Subscript, part: ast.Slice) -> Iterator[ast.expr]:
    """Without each bound of a slice, but for one that is 0."""
    for name, _ in bounds(part):
        yield ast.Subscript(node.value, with_fields(part, **{name: None}), ast.Load())


def bounds(part: ast.Slice) -> Iterator[tuple[str, ast.expr]]:
    """The bounds of a slice without which it is another one, by their fields."""
    for name in ("lower", "upper", "step"):
        known = getattr(part, name)
        if known is not None and getattr(known, "value", None) != 0:
            yield name, known


def fewer_words(node: ast.Call) -> Iterator[ast.expr]:
    """A call without each of its named arguments."""
    for word in node.keywords:
        yield ast.Call(node.func, node.args, [other for other in node.keywords if other is not word])


def with_fields(node: ast.expr, **other: Any) -> ast.expr:
    """A copy with other fields."""
    made = copy(node)
    vars(made).update(other)
    return made
