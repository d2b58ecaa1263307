"""Which functions a change outside of functions concerns: those that use the names that it binds.

Most bugs of a history also change an import, or a constant that their functions use. If any such change stood for every
function of the file, calls of all of them would be watched, and few of the ones that matter.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from selfplay.oracle.rewriting.python_trees import Function, parsed
from selfplay.patches.changes import Change
from selfplay.patches.functions import PatchedFunction


def innermost(known: Sequence[PatchedFunction], line: int) -> PatchedFunction | None:
    """The innermost function that holds the line."""
    return next((one for one in reversed(known) if one.holds(line)), None)


def users(tree: ast.Module, known: Sequence[PatchedFunction], change: Change) -> set[int] | None:
    """The first lines of the functions that use what this change binds: a name by an import or an assignment. None if
    it does anything else, or if such a name is used outside of functions otherwise than for other names like it."""
    bound = _bound(tree, change)
    if bound is None:
        return None
    firsts, names, left = set[int](), set(bound), set(bound)
    while left:
        used = [*_using(tree, left)]
        left = set()
        for statement, line in used:
            function = innermost(known, line)
            more = {} if function is not None else _names_of(statement)
            if more is None:
                return None
            firsts |= {function.first} if function is not None else set()
            left |= more.keys() - names
        names |= left
    return firsts


def _bound(tree: ast.Module, change: Change) -> set[str] | None:
    """The names that the changed statements bind, before and after; None if they do more than that."""
    gone = range(change.start, change.end)
    own = [one for one in tree.body if one.lineno in gone or one.lineno < change.start <= (one.end_lineno or 0)]
    added = parsed("".join(change.added))
    if added is None and not own:
        return None
    said = [_names_of(one) for one in (*own, *(added.body if added is not None else ()))]
    return None if None in said else {name for names in said for name in names or ()}


def _names_of(statement: ast.stmt) -> Mapping[str, None] | None:
    """The names that a statement binds and does nothing else with; a text alone binds none."""
    match statement:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return dict.fromkeys((one.asname or one.name).partition(".")[0] for one in names)
        case ast.Assign(targets=targets) if all(isinstance(one, ast.Name) for one in targets):
            return dict.fromkeys(one.id for one in targets if isinstance(one, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name: None}
        case ast.Expr(value=ast.Constant()):
            return {}
    return None


def _using(tree: ast.Module, names: AbstractSet[str]) -> Iterator[tuple[ast.stmt, int]]:
    """(statement of the module, line) where one of these names is read; not in annotations, nor where it is a
    parameter's."""
    for statement in tree.body:
        left: list[tuple[ast.AST, AbstractSet[str]]] = [(statement, names)]
        while left:
            node, known = left.pop()
            if isinstance(node, Function | ast.Lambda):
                known = known - {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
            if isinstance(node, ast.Name) and node.id in known and isinstance(node.ctx, ast.Load):
                yield statement, node.lineno
            for field, value in ast.iter_fields(node):
                if field not in ("annotation", "returns"):
                    parts = value if isinstance(value, list) else [value]
                    left += [(one, known) for one in parts if isinstance(one, ast.AST)]
