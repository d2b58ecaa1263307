"""The statements of a Python source, with the names of the definitions around them; expressions are not visited."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from selfplay.python_source import syntax_tree

Function = ast.FunctionDef | ast.AsyncFunctionDef
FIELDS = ("body", "orelse", "finalbody", "handlers", "cases")


@lru_cache(maxsize=16)
def parsed(text: str) -> ast.Module:
    """The syntax tree, which callers must not change. Raises what `syntax_tree` raises."""
    tree: ast.Module = syntax_tree(text)
    return tree


def statements(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Every statement, error handler and case, with the dotted name of the definition around it and a final dot."""
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        where, node = waiting.pop()
        inner = f"{where}{node.name}." if isinstance(node, Function | ast.ClassDef) else where
        for field in FIELDS:
            for child in getattr(node, field, None) or ():
                if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                    yield inner, child
                    waiting.append((inner, child))


def is_bound(node: ast.AST) -> bool:
    """Whether this use of a name or a place binds it."""
    return isinstance(getattr(node, "ctx", None), ast.Store)
