"""Which names a function binds and reads on which lines: enough to keep it running after a removal."""

import ast
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parameters(function: Function) -> list[str]:
    """The parameters of a function, in order, star ones last."""
    arguments = function.args
    stars = [a for a in (arguments.vararg, arguments.kwarg) if a]
    return [a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *stars]]


def outermost_functions(tree: ast.Module) -> list[Function]:
    """Functions and methods not inside another function, in source order."""
    found: list[Function] = []
    queue: deque[ast.AST] = deque([tree])
    while queue:
        for child in ast.iter_child_nodes(queue.popleft()):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append(child)
            elif isinstance(child, ast.stmt | ast.excepthandler):
                queue.append(child)
    return sorted(found, key=lambda function: function.lineno)


def bound_by(node: ast.AST) -> set[str]:
    """The names this one node binds (its children not counted)."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return {name}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return {name}
        case ast.MatchMapping(rest=str(name)):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(alias.asname or alias.name).split(".")[0] for alias in names}
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return set(names)
    return set()


def top_level_names(statement: ast.stmt) -> Iterator[str]:
    """Names a top-level statement defines, also inside `try` and `if`."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in names)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            yield from (n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        case ast.If() | ast.Try():
            handlers = [h.body for h in getattr(statement, "handlers", [])]
            for block in [statement.body, statement.orelse, *handlers]:
                for inner in block:
                    yield from top_level_names(inner)


def without_docstring(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements that do something."""
    first = body[0] if body else None
    text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return list(body[1:] if text else body)


class CodeNames:
    """The lines on which a function binds each name, reads it, and yields."""

    def __init__(self, function: Function) -> None:
        self.parameters = set(parameters(function))
        self.bound: dict[str, set[int]] = defaultdict(set)
        self.bound_on: dict[int, set[str]] = defaultdict(set)
        self.read: dict[str, set[int]] = defaultdict(set)
        self.yields: set[int] = set()
        targets: set[ast.AST] = set()  # of comprehensions: names that exist in them alone
        for root in function.body:
            for node in ast.walk(root):
                if isinstance(node, ast.comprehension):
                    targets.update(ast.walk(node.target))
                self._note(node, node in targets)
        self._first_bound = {name: min(lines) for name, lines in self.bound.items()}
        self._reads = {name: (min(lines), max(lines)) for name, lines in self.read.items()}

    def _note(self, node: ast.AST, is_target: bool) -> None:
        for name in () if is_target else bound_by(node):
            self.bound[name].add(node.lineno)  # type: ignore[attr-defined]
            self.bound_on[node.lineno].add(name)  # type: ignore[attr-defined]
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            self.read[node.id].add(node.lineno)
        if isinstance(node, ast.Yield | ast.YieldFrom):
            self.yields.add(node.lineno)

    def miss(self, start: int, end: int) -> bool:
        """Whether the function without lines `start`..`end` would miss a name, or stop being a generator.

        A name is missed when the rest reads it and nothing before binds it. That is stricter than needed for names
        bound in both arms of a condition; it keeps broken code running instead of raising `NameError`.
        """
        if self.yields and start <= min(self.yields) and max(self.yields) <= end:
            return True
        gone = {name for line in range(start, end + 1) for name in self.bound_on.get(line, ())} - self.parameters
        return any(self._first_bound[name] >= start and self._is_read_outside(name, start, end) for name in gone)

    def _is_read_outside(self, name: str, start: int, end: int) -> bool:
        first, last = self._reads.get(name, (start, end))
        return first < start or last > end
