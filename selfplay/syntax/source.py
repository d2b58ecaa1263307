"""One parsed source. Positions in it are bytes of its UTF-8 form and 1-based lines, counted as in git."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from tree_sitter import Node

from selfplay.syntax.bounded import Unreadable as Unreadable
from selfplay.syntax.bounded import tree_of
from selfplay.syntax.grammar import GRAMMARS, Grammar, walk
from selfplay.syntax.trial_parse import try_to_parse

_LOCK = threading.Lock()
MOST_NAME = 300
"""Characters of a dotted name, of which the last are kept: else a long one is repeated for all that is inside it."""


@dataclass(frozen=True)
class Function:
    """A function with a body. `name`: dotted, with the enclosing functions; empty if it has no name."""

    name: str
    node: Node
    body: Node


@dataclass(frozen=True)
class Source:
    """A parsed text."""

    grammar: Grammar
    data: bytes
    root: Node

    def said(self, node: Node) -> str:
        """The text of a node."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "surrogateescape")

    @cached_property
    def lines(self) -> list[bytes]:
        return self.data.split(b"\n")

    @cached_property
    def starts(self) -> list[int]:
        """The byte at which each line begins."""
        return [0, *accumulate(len(line) + 1 for line in self.lines[:-1])]

    @cached_property
    def _parents(self) -> dict[int, Node]:
        found, waiting = dict[int, Node](), [self.root]
        while waiting:
            node = waiting.pop()
            children = node.named_children
            found.update((child.id, node) for child in children)
            waiting += children
        return found

    def parent(self, node: Node) -> Node | None:
        """The node around a named one. tree-sitter's own `parent` looks for it from the root, through all levels."""
        return self._parents.get(node.id)

    def stands_in(self, node: Node, *types: str) -> bool:
        """Whether the node around a named one is of one of these types."""
        holder = self.parent(node)
        return holder is not None and holder.type in types

    def functions(self) -> Iterator[Function]:
        """Every function, outer ones first."""
        waiting = [("", self.root)]
        while waiting:
            where, node = waiting.pop()
            inner = where
            if node.type in self.grammar.functions:
                own = self.name_of(node)
                body = node.child_by_field_name("body")
                inner = below(where, own)
                if body is not None:
                    yield Function(f"{where}{own}"[-MOST_NAME:] if own else "", node, body)
            waiting.extend((inner, child) for child in reversed(node.named_children))

    def name_of(self, function: Node) -> str:
        """The name of a function, or of what it is assigned to; empty if it has none."""
        name = function.child_by_field_name("name")
        if name is not None:
            receiver = function.child_by_field_name("receiver")
            kind = next((n for n in walk(receiver) if n.type == "type_identifier"), None) if receiver else None
            return f"{self.said(kind)}.{self.said(name)}" if kind is not None else self.said(name)
        holder = self.parent(function)
        if holder is None:
            return ""
        for field in ("name", "left", "key", "property"):
            named = holder.child_by_field_name(field)
            if named is not None and named != function:
                return "".join(self.said(named).split())
        return ""


@lru_cache(maxsize=64)
def parse(language: str, text: str) -> Source:
    """The tree of a text. Raises `Unreadable` for a syntax error, and for what no one can parse in linear time, or in
    little memory."""
    grammar = GRAMMARS[language]
    data = text.encode("utf-8", "surrogateescape")
    try_to_parse(language, data)
    with _LOCK:
        root = tree_of(grammar.parser, data, language).root_node
    return Source(grammar, data, root)


def below(where: str, own: str) -> str:
    """What stands before the names of what is inside a function."""
    return f"{where}{own or '<anonymous>'}."[-MOST_NAME:]


def statements(block: Node, grammar: Grammar) -> list[Node]:
    """The statements of a block, without comments."""
    if block.type in grammar.cases and grammar.family == "javascript":
        return [n for n in block.children_by_field_name("body") if n.type != "comment"]
    if block.type not in grammar.blocks:  # Go blocks and cases hold one list
        block = next((n for n in block.named_children if n.type in grammar.blocks), block)
        if block.type not in grammar.blocks:
            return []
    return [n for n in block.named_children if n.type != "comment"]


def first_line(node: Node) -> int:
    """The 1-based line on which a node begins."""
    return int(node.start_point[0]) + 1


def last_line(node: Node) -> int:
    """The 1-based line on which a node ends; a node that ends with a line end does not extend to the next line."""
    row, column = node.end_point
    return int(row) + (1 if column or row == node.start_point[0] else 0)
