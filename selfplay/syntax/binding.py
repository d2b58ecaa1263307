"""Walks a tree and determines, for each node, which scope it opens, what it binds and what it reads."""

from collections.abc import Callable

from tree_sitter import Node

from selfplay.syntax import binding_go, binding_javascript, binding_typescript
from selfplay.syntax.names import FoundNames, Scope
from selfplay.syntax.source import Source, below

Visit = Callable[[Node, Scope, Source, FoundNames], list[Node] | None]
"""Records what a node binds and reads, and returns the nodes below it that are left to visit; None means all of
them."""
VISITS: dict[str, tuple[Visit, frozenset[str]]] = {
    "javascript": (binding_javascript.visit, binding_javascript.BLOCKS),
    "typescript": (binding_typescript.visit, binding_typescript.BLOCKS),
    "tsx": (binding_typescript.visit, binding_typescript.BLOCKS),
    "go": (binding_go.visit, binding_go.BLOCKS),
}


def collect(source: Source, found: FoundNames) -> None:
    """Fill `found` from a source."""
    visit, blocks = VISITS[source.grammar.name]
    waiting: list[tuple[Node, Scope]] = [(source.root, found.open(None, True, ""))]
    while waiting:
        node, outer = waiting.pop()
        scope = _scope(node, outer, source, found, blocks)
        rest = visit(node, scope, source, found)
        children = node.named_children if rest is None else rest
        waiting.extend((child, scope) for child in reversed(children))


def _scope(node: Node, outer: Scope, source: Source, found: FoundNames, blocks: frozenset[str]) -> Scope:
    """The scope of a node's children: a new one if the node opens one. A function's body has the function's own
    scope."""
    if node.type in source.grammar.functions:
        return found.open(outer, True, below(outer.where, source.name_of(node)))
    if node.type not in blocks:
        return outer
    is_body = source.stands_in(node, *source.grammar.functions)
    return outer if is_body else found.open(outer, False, outer.where)
