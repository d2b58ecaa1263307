"""An assertion may also act, as in Python (`injector/acting.py`): `expect(stock.take('tea')).toBe(3)`.

What a call acts on is a name that the file binds, but not to an import or a literal.
"""

from bisect import bisect
from collections.abc import Sequence

from tree_sitter import Node

from selfplay.scripted.tree_sitter.loosen import GO_PACKAGES, JAVASCRIPT_ROOTS
from selfplay.syntax import Source
from selfplay.syntax.grammar import walk

BINDING = {"variable_declarator": ("name", "value"), "short_var_declaration": ("left", "right"),
           "var_spec": ("name", "value"), "assignment_expression": ("left", "right"),
           "assignment_statement": ("left", "right")}  # fmt: skip
"""Nodes that bind a name, with the fields of the name and of its value."""
READING = JAVASCRIPT_ROOTS | GO_PACKAGES | frozenset(
    ["reflect", "cmp", "strings", "bytes", "errors", "fmt", "len", "JSON", "Math", "String", "Number", "Boolean"]
)  # fmt: skip
"""What asserts, compares and writes, and leaves its arguments as they are."""


def acts_on_the_rest(source: Source, body: Node, gone: Sequence[Node]) -> bool:
    """Whether a call in the statements `gone` may act on what a later statement of a test's body still reads."""
    first = min(node.start_byte for node in gone)
    acted = {name for node in gone for call in walk(node) for name in _acted_on(source, call)} & _stateful(source)
    starts, ends = zip(*sorted((node.start_byte, node.end_byte) for node in gone), strict=True)
    later = (node for node in walk(body) if node.start_byte >= first and not _is_in(node, starts, ends))
    return bool(acted) and any(node.type == "identifier" and source.said(node) in acted for node in later)


def _is_in(node: Node, starts: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether a node is in one of the spans, which do not overlap."""
    return node.end_byte <= ends[bisect(starts, node.start_byte) - 1]


def _acted_on(source: Source, call: Node) -> set[str]:
    """The names that a call may act on; none for an assertion's own call."""
    called, given = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if call.type != "call_expression" or called is None or given is None:
        return set()
    words = source.said(called).replace("(", ".").split(".")
    if words[0] in READING or "should" in words:
        return set()
    owner = [called] if called.type in ("member_expression", "selector_expression") else []
    return {source.said(node) for value in (*owner, given) for node in walk(value) if node.type == "identifier"}


def _stateful(source: Source) -> set[str]:
    """The names that the file binds to something that may have a state."""
    found = set[str]()
    for node in walk(source.root):
        name, value = (node.child_by_field_name(field) for field in BINDING.get(node.type, ("", "")))
        literal = value is not None and (value.type in source.grammar.literals or "require(" in source.said(value)[:8])
        if name is not None and not literal:
            found |= {source.said(one) for one in walk(name) if one.type == "identifier"}
    return found
