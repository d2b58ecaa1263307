"""Which functions a change outside of functions concerns: those that use the names that it binds.

Most bugs of a history also change an import, or a constant that their functions use. If any such change stood for every
function of the file, calls of all of them would be watched, and few of the ones that matter.
"""

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence

from selfplay.oracle.rewriting.python_trees import Function, parsed
from selfplay.patches.changes import Change
from selfplay.patches.functions import PatchedFunction

Use = tuple[ast.stmt, int]
"""A statement of the module, and the line in it where a name is read."""


class NamesOfAModule:
    """Where the names of a module are used, and which function holds each line. One walk for all changes."""

    def __init__(self, tree: ast.Module | None, known: Sequence[PatchedFunction]) -> None:
        self._tree = tree
        self._holder = {line: one for one in known for line in range(one.first, one.last + 1)}  # the innermost is last
        self._uses = _uses(tree) if tree is not None else {}

    def innermost(self, line: int) -> PatchedFunction | None:
        """The innermost function that holds the line."""
        return self._holder.get(line)

    def users(self, change: Change) -> set[int] | None:
        """The first lines of the functions that use what this change binds: a name by an import or an assignment. None
        if it does anything else, if such a name is used outside of functions otherwise than for other names like it, or
        if there is no tree."""
        bound = _bound(self._tree, change) if self._tree is not None else None
        if bound is None:
            return None
        firsts, names, left = set[int](), set(bound), [*bound]
        for name in left:
            for statement, line in self._uses.get(name, ()):
                function = self._holder.get(line)
                more = {} if function is not None else _names_of(statement)
                if more is None:
                    return None
                firsts |= {function.first} if function is not None else set()
                left += more.keys() - names
                names |= more.keys()
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


def _uses(tree: ast.Module) -> dict[str, list[Use]]:
    """Name -> where it is read; not in annotations, nor where it is a parameter's."""
    found = defaultdict[str, list[Use]](list)
    for statement in tree.body:
        left: list[tuple[ast.AST, frozenset[str]]] = [(statement, frozenset())]
        while left:
            node, hidden = left.pop()
            if isinstance(node, Function | ast.Lambda):
                hidden |= {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
            if isinstance(node, ast.Name) and node.id not in hidden and isinstance(node.ctx, ast.Load):
                found[node.id].append((statement, node.lineno))
            for field, value in ast.iter_fields(node):
                if field not in ("annotation", "returns"):
                    parts = value if isinstance(value, list) else [value]
                    left += [(one, hidden) for one in parts if isinstance(one, ast.AST)]
    return found
