"""The statements of a Python source, with the names of the definitions around them; expressions are not visited."""

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
FIELDS = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Every statement, error handler and case, with the dotted name of the definition around it and a final dot."""
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        where, node = waiting.pop()
        inner = f"{where}{node.name}." if isinstance(node, Function | ast.ClassDef) else where
        for child in _inside(node):
            yield inner, child
            waiting.append((inner, child))


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The statements, handlers and cases directly inside one."""
    for field in FIELDS:
        for child in getattr(node, field, None) or ():
            if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                yield child


def is_bound(node: ast.AST) -> bool:
    """Whether this use of a name or a place binds it."""
    return isinstance(getattr(node, "ctx", None), ast.Store)
