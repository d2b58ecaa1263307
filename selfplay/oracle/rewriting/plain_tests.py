"""Turns test files into plain code without a test runner."""

import ast

from selfplay.oracle.behaviour.borrowed import bound, of_a_runner
from selfplay.oracle.behaviour.python_probes import Records
from selfplay.oracle.behaviour.recording import PLACEHOLDER


class Plain(Records):
    """Removes a runner's base classes, decorators and blocks; assertions anywhere become records."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__()
        self._runners = {name for node in tree.body if of_a_runner(node) and not getattr(node, "level", 0)
                         for name in bound(node)} | {"unittest", "pytest"}  # fmt: skip

    def _runs(self, node: ast.expr) -> bool:
        return any(isinstance(one, ast.Name) and one.id in self._runners for one in ast.walk(node))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | None:
        return None if node.module == PLACEHOLDER else node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        node.bases = [base for base in node.bases if not self._runs(base)]
        node.decorator_list = [one for one in node.decorator_list if not self._runs(one)]
        node.body = [one for one in node.body if not isinstance(one, ast.Pass)] or [ast.Pass()]
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.decorator_list = [one for one in node.decorator_list if not self._runs(one)]
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        node.decorator_list = [one for one in node.decorator_list if not self._runs(one)]
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_With(self, node: ast.With) -> ast.stmt | list[ast.stmt]:
        """Turn the cases of `subTest` into a block."""
        node.items = [item for item in node.items if getattr(getattr(item.context_expr, "func", 0), "attr", "")
                      != "subTest"]  # fmt: skip
        if node.items:
            return super().visit_With(node)
        self.generic_visit(node)
        return node.body
