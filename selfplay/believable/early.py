"""Finds locals that a function reads on a line before any line that binds them, as a half-reverted fix may leave
them."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from selfplay.believable.blocks import Function, parsed, statements

_APART = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp,
          ast.GeneratorExp)  # fmt: skip


@lru_cache(maxsize=64)
def read_early(text: str) -> frozenset[str]:
    """The dotted names of such locals. A read does not count if a loop contains it and the binding, since an earlier
    round may have bound the name. Raises what `syntax_tree` raises."""
    return frozenset(
        f"{where}{node.name}.{name}"
        for where, node in statements(parsed(text))
        if isinstance(node, Function)
        for name in _early(node)
    )


def _early(function: Function) -> Iterator[str]:
    read: dict[str, int] = {}
    bound: dict[str, int] = {}
    loops: list[tuple[int, int]] = []
    other = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    for node in _own(function):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read[name] = min(node.lineno, read.get(name, node.lineno))
            case ast.Name(id=name, ctx=ast.Store()):
                bound[name] = min(node.lineno, bound.get(name, node.lineno))
            case ast.For() | ast.AsyncFor() | ast.While():
                loops.append((node.lineno, node.end_lineno or node.lineno))
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                other.update(names)
            case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)) | ast.alias(name=name):
                other.add(name.split(".")[0])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                other.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                other.add(name)
    for name in bound.keys() & read.keys() - other:
        again = any(start <= read[name] and bound[name] <= end for start, end in loops)
        if read[name] < bound[name] and not again:
            yield name


def _own(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function in its own scope; a nested scope is returned, but not entered."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _APART):
            waiting.extend(ast.iter_child_nodes(node))
