"""Code of a function that makes no difference: conditions, loops and assignments without which it does the same."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from selfplay.believable.blocks import Function, is_bound, statements


def moot_code(function: Function, every: Sequence[ast.AST]) -> Iterator[str]:
    """Conditions on which nothing depends, heads of loops that do nothing or end in their first turn, and assignments
    of a name to itself, as source. `every`: the nodes of the function."""
    yield from _moot(function)
    yield from _idle(function, every)


def _moot(function: Function) -> Iterator[str]:
    """Conditions that make no difference: both branches are the same, or the branch is what follows anyway."""
    for _, node in statements(function):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            yield from _moot_in(block, node) if isinstance(block, list) else ()
    yield from _moot_in(function.body, function)


def _moot_in(block: Sequence[ast.stmt], parent: ast.AST) -> Iterator[str]:
    if isinstance(parent, ast.For | ast.While) and block is parent.body and _leaves(block):
        yield _head(parent)
    yield from (ast.unparse(one) for one in block if _is_same(one))
    for at, one in enumerate(block):
        if isinstance(one, ast.If) and _same(one.body, one.orelse or _following(block, at, parent)):
            yield ast.unparse(one.test)


def _following(block: Sequence[ast.stmt], at: int, parent: ast.AST) -> list[ast.stmt]:
    """What is done after a statement if its last one leaves the block; nothing if that is not known."""
    body = block[at].body  # type: ignore[attr-defined]
    if not isinstance(body[-1], ast.Return | ast.Raise | ast.Continue):
        return []
    if at + 1 < len(block):
        return [block[at + 1]]
    if not isinstance(parent, _WHOLE) or block is not parent.body:
        return []
    return [ast.Continue() if isinstance(parent, ast.For | ast.While) else ast.Return()]


def _same(one: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> bool:
    """Whether two blocks are the same code; long chains of conditions are in each other, so few are compared."""
    if [type(each) for each in one] != [type(each) for each in other]:
        return False
    return [ast.dump(each) for each in one] == [ast.dump(each) for each in other]


def _leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a loop ends in its first turn."""
    ends = isinstance(block[-1], ast.Return | ast.Raise | ast.Break)
    return ends and not any(isinstance(node, ast.Continue) for one in block for node in ast.walk(one))


def _head(loop: ast.For | ast.While) -> str:
    return ast.unparse(loop.test if isinstance(loop, ast.While) else loop.iter)


def _is_same(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
            return name == other
    return False


_WHOLE = (ast.For, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)
"""Blocks after whose end nothing else follows in one turn."""


def _idle(function: Function, every: Sequence[ast.AST]) -> Iterator[str]:
    """The heads of loops that only move their own names on, which nothing else reads."""
    shared = {name for node in every if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    reads = Counter(node.id for node in every if isinstance(node, ast.Name) and not is_bound(node))
    for _, loop in statements(function):
        if isinstance(loop, ast.For | ast.While) and all(map(_moves_on, (one for _, one in statements(loop)))):
            own = [node for node in ast.walk(loop) if isinstance(node, ast.Name)]
            read = Counter(node.id for node in own if not is_bound(node))
            moved = {node.id for node in own if is_bound(node)}
            if not moved & shared and all(read[name] == reads[name] for name in moved):
                yield _head(loop)


def _moves_on(statement: ast.AST) -> bool:
    match statement:
        case ast.Assign(targets=targets):
            return all(isinstance(one, ast.Name | ast.Tuple) for one in targets)
        case ast.AugAssign(target=target):
            return isinstance(target, ast.Name)
        case ast.If() | ast.For() | ast.While() | ast.Continue() | ast.Break() | ast.Pass():
            return True
    return False
