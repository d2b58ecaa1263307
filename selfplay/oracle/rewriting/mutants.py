"""Mutants of the original: each is a small change of one line that the bug changed, as a wrong repair has it.

A condition that does not matter, an option that is not passed on, a boundary moved by one, a statement left out, a loop
that ends early.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from itertools import chain, islice, zip_longest
from typing import NamedTuple

from selfplay.oracle.rewriting.left_out import fewer_bounds, fewer_operands, fewer_words, truths
from selfplay.oracle.rewriting.mutant_schema import PLAIN, Mutant, own_expressions, planted, without_effect
from selfplay.oracle.rewriting.python_trees import Function, bodies, is_text, own_lines, parsed

_MOVED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_ENDS = {"lstrip": "rstrip", "find": "rfind", "index": "rindex", "split": "rsplit", "partition": "rpartition"}
_ENDS |= {other: one for one, other in _ENDS.items()}
_SILENT = (Function, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass)
_TOLD = frozenset(["warn", "warning", "debug", "info", "error", "exception", "log", "print"])
"""Functions that tell people something, which no outcome shows."""


class Placed(NamedTuple):
    """A mutant in its file: what it changes, for people, and the first line of its statement, and the whole line."""

    words: str
    line: int
    statement: str = ""


def with_mutants(text: str, lines: Set[int], most: int, seed: int, first: int = 1) -> tuple[str, list[Placed]]:
    """The file with at most `most` mutants of these lines in its functions, numbered from `first` on in this order.
    None if it cannot be parsed, or be written."""
    tree = parsed(text)
    if tree is None:
        return text, []
    try:
        found = [*islice(_by_turns([*_mutants(tree, lines)], seed), most)]
        lines_of = text.split("\n")
        placed = [Placed(one.words(), one.line, lines_of[one.line - 1]) for one in found]
        return (planted(tree, found, first, PLAIN), placed) if placed else (text, [])
    except RecursionError:
        return text, []


def _by_turns(every: Sequence[Mutant], seed: int) -> Iterator[Mutant]:
    """In random order, one of each kind in turn."""
    kinds = defaultdict[str, list[Mutant]](list)
    for one in random.Random(seed).sample(every, len(every)):
        kinds[one.kind].append(one)
    return (one for one in chain.from_iterable(zip_longest(*kinds.values())) if one is not None)


def _mutants(tree: ast.Module, lines: Set[int]) -> Iterator[Mutant]:
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        for body in bodies(function):
            for statement in body:
                own = own_lines(statement) & lines
                if own and not isinstance(statement, _SILENT) and not is_text(statement) and not _tells(statement):
                    if not without_effect(statement, body, function):
                        yield Mutant(statement, None, "statement", statement.lineno)
                    yield from (replace(one, line=statement.lineno) for one in _within(statement, own))


def _within(statement: ast.stmt, lines: Set[int]) -> Iterator[Mutant]:
    """Those of the expressions in these lines."""
    if isinstance(statement, ast.Raise):  # what an error says, no outcome shows
        return
    if isinstance(statement, ast.For) and statement.iter.lineno in lines:
        yield _cut(statement.iter)
    for node, is_test in own_expressions(statement):
        if node.lineno in lines:
            yield from _of(node, is_test)


def _tells(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    name = call.func if isinstance(call, ast.Call) else None
    return getattr(name, "attr", getattr(name, "id", "")) in _TOLD


def _of(node: ast.expr, is_test: bool) -> Iterator[Mutant]:
    if is_test:
        yield from (Mutant(node, value, "condition") for value in truths(node))
    match node:
        case ast.Compare(ops=[op]) if type(op) in _MOVED:
            yield Mutant(node, ast.Compare(node.left, [_MOVED[type(op)]()], node.comparators), "boundary")
        case ast.BoolOp():
            yield from (Mutant(node, rest, "operand") for rest in fewer_operands(node))
        case ast.BinOp(left=left, right=right):
            for one in (left, right):
                yield Mutant(node, one, "operand")
        case ast.Constant(value=known) if isinstance(known, bool | int | float | str) and known != "":
            yield Mutant(node, ast.Constant(_other(known)), "constant")
        case ast.Subscript(slice=ast.Slice() as part):
            yield from (Mutant(node, rest, "slice") for rest in fewer_bounds(node, part))
        case ast.Call():
            yield from _calls(node)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            yield from (_cut(one.iter) for one in node.generators if not one.is_async)


def _other(value: bool | float | str) -> bool | float | str:
    if isinstance(value, str):
        return ""
    return not value if isinstance(value, bool) else value + 1


def _calls(node: ast.Call) -> Iterator[Mutant]:
    yield from (Mutant(node, rest, "argument") for rest in fewer_words(node))
    match node:
        case ast.Call(func=ast.Name(id="cast") | ast.Attribute(attr="cast")):
            pass
        case ast.Call(args=[*first, ast.expr() as last]) if first and getattr(last, "value", last) is not None:
            yield Mutant(node, ast.Call(node.func, first, node.keywords), "argument")
        case ast.Call(func=ast.Name(), args=[ast.expr() as only], keywords=[]) if not isinstance(only, ast.Starred):
            yield Mutant(node, only, "call")
        case ast.Call(func=ast.Attribute(value=value), args=[], keywords=[]):
            yield Mutant(node, value, "call")
    if isinstance(node.func, ast.Attribute) and node.func.attr in _ENDS and _has_ends(node):
        other = ast.Attribute(node.func.value, _ENDS[node.func.attr], ast.Load())
        yield Mutant(node, ast.Call(other, node.args, node.keywords), "end")


def _has_ends(node: ast.Call) -> bool:
    """Without a number `split` and `rsplit` are one."""
    return getattr(node.func, "attr", "") not in ("split", "rsplit") or len(node.args) > 1 or bool(node.keywords)


def _cut(node: ast.expr) -> Mutant:
    """Only the first items of a loop."""
    return Mutant(node, ast.Call(ast.Name(PLAIN.first, ast.Load()), [node], []), "loop")
