"""The shape of functions: which do nothing, which always end in a return, and how many statements they have."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from selfplay.believable.blocks import Function, statements
from selfplay.python_source import shared_tree
from selfplay.syntax.removed_code import Shape, losses


@lru_cache(maxsize=64)
def shapes(text: str) -> dict[str, Shape]:
    """Dotted name -> shape of each function of a Python source. Raises what `syntax_tree` raises."""
    return {
        f"{where}{node.name}": _shape(node)
        for where, node in statements(shared_tree(text))
        if isinstance(node, Function)
    }


def stubs(before: str, after: str) -> list[str]:
    """What functions lost, in words; only those that exist before and after. Raises what `syntax_tree` raises."""
    was, now = (_without_docstring(shared_tree(text).body) for text in (before, after))
    emptied = ["nothing is left of the file"] if was and not now else []
    return [*emptied, *losses(shapes(before), shapes(after))]


def _shape(function: Function) -> Shape:
    inner = [node for _, node in statements(function)]
    empty = sum(map(_is_empty, (block for node in inner for block in _blocks(node))))
    return Shape(_is_stub(function), _ends(function.body), empty, len(inner))


def _is_stub(function: Function) -> bool:
    """Whether the body, apart from its docstring, only passes, or returns nothing, a constant, an empty collection or a
    parameter."""
    body = _without_docstring(function.body)
    if len(body) != 1:
        return not body
    match body[0]:
        case ast.Pass() | ast.Expr(value=ast.Constant() | ast.Yield(value=None)):
            return True
        case ast.Expr(value=ast.YieldFrom(value=ast.Tuple(elts=[]))):
            return True
        case ast.Return(value=value):
            return value is None or _says_nothing(value, function)
    return False


def _says_nothing(value: ast.expr, function: Function) -> bool:
    match value:
        case ast.Constant() | ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Name(id=name):
            return name in {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    return False


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body


def _ends(block: list[ast.stmt]) -> bool:
    """Whether a block always ends by returning a value or raising an error."""
    match block[-1] if block else None:
        case ast.Return(value=value):
            return value is not None
        case ast.Raise():
            return True
        case ast.If(body=body, orelse=other):
            return _ends(body) and _ends(other)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return _ends(body)
        case ast.Try(body=body, handlers=handlers, orelse=other, finalbody=last):
            return _ends(last) or (_ends(other or body) and all(_ends(one.body) for one in handlers))
        case ast.While(test=ast.Constant(value=True)):
            return True
        case ast.Match(cases=cases):
            return all(_ends(case.body) for case in cases)
    return False


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement that is not a definition or an error handler; those may be empty on purpose."""
    if isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Try):
        for name in ("body", "orelse", "finalbody"):
            yield getattr(node, name, [])


def _is_empty(block: list[ast.stmt]) -> bool:
    return len(block) == 1 and isinstance(block[0], ast.Pass)
