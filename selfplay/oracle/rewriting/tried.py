"""Where what a `try` tries is left without an error: at its end, and by `return`, `break` and `continue`."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast


def told_of_its_end(body: Sequence[ast.stmt], done: ast.expr) -> list[ast.stmt]:
    """The statements, with `done` wherever they are left before their end."""
    made = [_Ending(done).visit(one) for one in body]
    return [one for some in made for one in (some if isinstance(some, list) else [some])]


@dataclass
class _Ending(ast.NodeTransformer):
    """Calls `done` where what is tried is left without an error."""

    done: ast.expr

    def visit_Return(self, node: ast.Return) -> ast.AST:
        both = ast.Tuple([node.value or ast.Constant(None), self.done], ast.Load())
        return ast.Return(ast.Subscript(both, ast.Constant(0), ast.Load()))

    def visit_Break(self, node: ast.stmt) -> list[ast.stmt]:
        return [ast.Expr(self.done), node]

    visit_Continue = visit_Break

    def visit_For(self, node: ast.stmt) -> ast.stmt:
        """Its own `break` does not leave what is tried."""
        return cast(ast.stmt, _EndingALoop(self.done).generic_visit(node))

    visit_AsyncFor = visit_While = visit_For

    def visit_FunctionDef(self, node: ast.AST) -> ast.AST:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef


class _EndingALoop(_Ending):
    """The same in a loop, which only `return` leaves."""

    def visit_Break(self, node: ast.stmt) -> list[ast.stmt]:
        return [node]

    visit_Continue = visit_Break
