"""Removes what a cut leaves unused: imports, locals and functions that nothing reads any more.

Go does not compile a file with an unused import or local; in JavaScript any linter reports one.
"""

from collections.abc import Iterable

from tree_sitter import Node

from selfplay.scripted.tree_sitter.spans import element, without
from selfplay.syntax import Source, parse
from selfplay.syntax.names import Binding, names

ROUNDS = 4
"""A local that goes may have been all that read another."""
Span = tuple[int, int, bytes]
_DECLARATIONS = frozenset(
    ["lexical_declaration", "variable_declaration", "import_statement", "import_declaration", "var_declaration",
     "short_var_declaration", "function_declaration", "generator_function_declaration", "class_declaration"]
)  # fmt: skip


def tidied_text(language: str, before: str, after: str) -> str:
    """`after` without what nothing reads since the change; what cannot be removed stays. Raises `Unreadable`."""
    was = set(names(language, before).unread)
    for _ in range(ROUNDS):
        now = names(language, after).unread
        left = _without(parse(language, after), [binding for name, binding in now.items() if name not in was])
        if left == after:
            break
        after = left
    return after


def _without(source: Source, loose: Iterable[Binding]) -> str:
    """The text with the declarations of these bindings gone, as far as that is possible."""
    gone = {binding.at.start_byte: binding for binding in loose}
    spans = [span for binding in gone.values() if (span := _span(source, binding.at, gone)) is not None]
    data = source.data
    last = len(data) + 1
    for start, end, new in sorted(set(spans), reverse=True):
        if end <= last:
            data, last = data[:start] + new + data[end:], start
    return data.decode("utf-8", "surrogateescape")


def _span(source: Source, at: Node, gone: dict[int, Binding]) -> Span | None:
    """The bytes to replace so that the name is no longer bound."""
    holder = source.parent(at)
    if at.type in ("function_declaration", "generator_function_declaration", "class_declaration"):
        return _lines(source, at)
    if at.type in ("import_specifier", "import_spec", "shorthand_property_identifier_pattern"):
        return _of_list(source, at, gone)
    if holder is None:
        return None
    match holder.type:
        case "variable_declarator" | "var_spec" if holder.child_by_field_name("name") == at:
            return _of_list(source, holder, {holder.start_byte: gone[at.start_byte]})
        case "import_clause":
            return _statement(source, holder) if holder.named_child_count == 1 else None
        case "namespace_import":
            return _statement(source, holder)
        case "expression_list":
            return _go_names(source, holder, at, gone)
    return None


def _of_list(source: Source, at: Node, gone: dict[int, Binding]) -> Span | None:
    """An element of a list; the whole statement where nothing else is in the list."""
    holder = source.parent(at)
    others = [n for n in holder.named_children if n.type == at.type] if holder is not None else []
    if all(n == at or n.start_byte in gone for n in others):
        return _statement(source, at)
    if at.type == "import_spec":
        return _lines(source, at)
    return (*element(source, at), b"")


def _go_names(source: Source, names_: Node, at: Node, gone: dict[int, Binding]) -> Span | None:
    """A name on the left of `:=` becomes a blank; a statement that would bind none goes."""
    statement = source.parent(names_)
    rest = [n for n in names_.named_children if source.said(n) != "_" and n.start_byte not in gone]
    if statement is None or statement.type not in ("short_var_declaration", "range_clause"):
        return None
    if rest:
        return at.start_byte, at.end_byte, b"_"
    inner = source.stands_in(statement, "statement_list")
    return _statement(source, at) if statement.type == "short_var_declaration" and inner else None


def _statement(source: Source, node: Node) -> Span | None:
    """The lines of the declaration around a node."""
    here: Node | None = node
    while here is not None and here.type not in _DECLARATIONS:
        here = source.parent(here)
    return _lines(source, here) if here is not None else None


def _lines(source: Source, node: Node) -> Span | None:
    """The lines of a node with its comments; None when it does not have them for itself."""
    holder = source.parent(node)
    whole = holder if holder is not None and holder.type == "export_statement" else node
    cut = without(source, [whole], "")
    if cut is None:
        return None
    ends = [*source.starts[1:], len(source.data)]
    return source.starts[cut.start - 1], ends[cut.end - 1], b""
