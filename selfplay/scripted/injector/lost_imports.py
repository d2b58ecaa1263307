"""Code of the past imports what is no longer there: the compatibility module of an old Python, a helper that moved.

Nothing of such a file runs, so no test fails for the change's own sake. A new import must lead to a module of the
repository that has the name, to Python's own library, or to a package that the repository imports today. Imports in a
`try` may fail, and are not looked at.
"""

import ast
import sys
from collections.abc import Iterator

from selfplay.python_source import shared_tree
from selfplay.scripted.injector.index import Index

RUNS = (ast.Module, ast.stmt, ast.ExceptHandler)
Import = tuple[str, str]
"""The dotted module, with a dot before it for each level of a relative import, and the name taken from it; an empty
name for the module itself."""


def imports_what_is_gone(path: str, head: str, merged: str, index: Index) -> bool:
    """Whether the merged text of the file at `path` has an import that HEAD's has not, and that leads nowhere. Raises
    what `shared_tree` raises."""
    new = {*_imports(shared_tree(merged))} - {*_imports(shared_tree(head))}
    return any(not _leads_somewhere(path, *one, index) for one in new)


def _imports(tree: ast.Module) -> Iterator[Import]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (("." * node.level + (node.module or ""), alias.name) for alias in node.names)
        elif isinstance(node, RUNS) and not isinstance(node, ast.Try | ast.TryStar):
            waiting += ast.iter_child_nodes(node)


def _leads_somewhere(path: str, module: str, name: str, index: Index) -> bool:
    first, *rest = module.lstrip(".").split(".")
    levels = len(module) - len(module.lstrip("."))
    if levels:
        above = path.split("/")[:-levels]
        return _is_there("/".join([*above, *filter(None, [first, *rest])]), name, index)
    own = index.modules_named.get(first, [])
    if own:
        return any(_is_there("/".join([place, *rest]), name, index) for place in own)
    return first in sys.stdlib_module_names or first in index.files_naming


def _is_there(place: str, name: str, index: Index) -> bool:
    if place not in index.modules or name in ("", "*"):
        return place in index.modules
    own = index.modules[place]
    return f"{place}/{name}" in index.modules or bool(own and index.words[own][name])
