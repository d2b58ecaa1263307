"""An expression with one part of it taken away, in each way: without an operand, an argument, an entry, a bound, or
with what it is made of in its place."""

import ast
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

from selfplay.oracle.rewriting.left_out import fewer_bounds, fewer_operands, fewer_words, with_fields
from selfplay.oracle.rewriting.program_numbers import SMALL

_OWN = ("self", "cls")
LONGER, LONGEST = 10, 400
"""How much more of a small number, and of a text that is gone through, is tried, and of how long a one: what nothing
tells from more was a limit (`range(8)`, `zip(items, "abc")`)."""
_GOING = ("zip", "enumerate", "iter", "map")
MOST_ALIKE = 20
"""The most entries of what is written in place that are all made the same: a longer table is data."""


def taken_apart(node: ast.expr) -> Iterator[ast.expr]:
    """What stands in the place of an expression of which one part is taken away."""
    match node:
        case ast.BoolOp():
            yield from fewer_operands(node)
        case ast.Compare(left=left, ops=[*ops], comparators=[*values]) if len(ops) > 1:
            yield ast.Compare(left, ops[:-1], values[:-1])
            yield ast.Compare(values[0], ops[1:], values[1:])
        case ast.JoinedStr():
            yield from _formatted(node)
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.Call():
            yield from _calls(node)
        case ast.Subscript():
            yield from _subscripts(node)
        case ast.Attribute(value=ast.expr() as value) if not isinstance(value, ast.Name) or value.id not in _OWN:
            yield value
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            for one in items if len(items) > isinstance(node, ast.Set) else ():
                yield with_fields(node, elts=[other for other in items if other is not one])
            if isinstance(node, ast.Set) and any(isinstance(one, ast.Starred) for one in items):
                yield ast.List(items, ast.Load())  # what is the same twice, and the order
            yield from _alike(node, items)
        case ast.SetComp(elt=item, generators=generators):
            yield ast.ListComp(item, generators)
        case ast.DictComp(key=key, generators=generators):
            yield ast.ListComp(key, generators)  # also what is the same twice
        case ast.Constant(value=int(number)) if 2 < number <= SMALL:
            yield ast.Constant(number * LONGER)
        case ast.Dict(keys=keys, values=values):
            for at in range(len(keys)):
                yield ast.Dict([*keys[:at], *keys[at + 1 :]], [*values[:at], *values[at + 1 :]])
            yield from _alike(node, values)


def _formatted(node: ast.JoinedStr) -> Iterator[ast.expr]:
    """Without each value, and with each part of a value taken away; what is inside is not replaced in its place, since
    Python before 3.12 cannot always write that."""
    for value in (one for one in node.values if isinstance(one, ast.FormattedValue)):
        yield ast.JoinedStr([one for one in node.values if one is not value])
        if value.format_spec is not None or value.conversion != -1:
            plain = ast.FormattedValue(value.value, -1)
            yield ast.JoinedStr([plain if one is value else one for one in node.values])
        for inner in ast.walk(value):
            if isinstance(inner, ast.expr) and not isinstance(inner, ast.FormattedValue | ast.JoinedStr):
                yield from (swapped(node, inner, by) for by in taken_apart(inner))


def swapped(node: Any, old: ast.AST, new: ast.AST) -> Any:
    """A copy of a tree with another node in the place of `old`."""
    if isinstance(node, list):
        return [swapped(one, old, new) for one in node]
    if node is old or not isinstance(node, ast.AST):
        return new if node is old else node
    made = copy(node)
    vars(made).update({name: swapped(value, old, new) for name, value in ast.iter_fields(node)})
    return made


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    """Without a named argument, or those behind a place; nothing, what is called, or what is given, in place of it; a
    function that is given called at once; of the entries of a dictionary that is written in place each, also those
    whose key came again."""
    yield ast.Constant(None)
    match node.func:
        case ast.Attribute(value=ast.DictComp() as made, attr="values" | "keys" | "items" as which):
            entry = ast.Tuple([made.key, made.value], ast.Load())
            yield ast.ListComp({"values": made.value, "keys": made.key, "items": entry}[which], made.generators)
    yield from called_at_once(node)
    for at, one in enumerate(node.args):
        match node.func, one:
            case ast.Name(id=name), ast.Constant(value=str() | bytes() as text) if name in _GOING:
                longer = ast.Constant(text[:LONGEST] * LONGER)
                yield ast.Call(node.func, [*node.args[:at], longer, *node.args[at + 1 :]], node.keywords)
    yield from fewer_words(node)
    yield from (ast.Call(node.func, node.args[:at], node.keywords) for at in range(1, len(node.args)))
    for one in node.args:
        if isinstance(one, ast.Starred):
            spread = one.value.elts if isinstance(one.value, ast.List | ast.Tuple | ast.Set) else []
            yield from (each for each in spread if not isinstance(each, ast.Starred))
        else:
            yield one
    if isinstance(node.func, ast.Attribute):
        yield node.func.value


def called_at_once(node: ast.expr) -> Iterator[ast.expr]:
    """A function that a call is given, called with the rest: `Context().run(f, x)` does more than `f(x)`."""
    match node:
        case ast.Call(func=func, args=[ast.Name() | ast.Attribute() | ast.Lambda() as given, *rest], keywords=words):
            if rest or isinstance(func, ast.Attribute):
                yield ast.Call(given, rest, words)


def _alike(node: ast.expr, entries: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """All entries of what is written in place the same, each in turn: however one of them is chosen (`[a, b].pop(i)`,
    `getitem((a, b), i)`, in a later line), one that alone answers as before was not chosen."""
    if (
        isinstance(node, ast.Set)
        or not 2 <= len(entries) <= MOST_ALIKE
        or any(isinstance(one, ast.Starred | ast.Slice) for one in entries)
    ):
        return
    for one in {ast.dump(one): one for one in entries}.values():
        yield with_fields(node, **{"values" if isinstance(node, ast.Dict) else "elts": [one] * len(entries)})


def _subscripts(node: ast.Subscript) -> Iterator[ast.expr]:
    """Without a bound, or the whole; each choice of a table that is written in place."""
    if isinstance(node.slice, ast.Slice):
        yield from fewer_bounds(node, node.slice)
    elif isinstance(node.value, ast.Tuple | ast.List):
        yield from (one for one in node.value.elts if not isinstance(one, ast.Starred))
    elif isinstance(node.value, ast.Dict):
        yield from node.value.values
