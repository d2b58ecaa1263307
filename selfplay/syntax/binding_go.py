"""What Go's nodes bind and read. A name of the package may be defined in another file."""

from tree_sitter import Node

from selfplay.syntax.names import FoundNames, Kind, Scope
from selfplay.syntax.source import Source

BLOCKS = frozenset(
    ["block", "if_statement", "for_statement", "expression_switch_statement", "type_switch_statement",
     "select_statement", "expression_case", "type_case", "default_case", "communication_case"]
)  # fmt: skip
_READ = frozenset(["identifier", "type_identifier", "package_identifier"])
_NAMED = {
    "var_spec": "local", "const_spec": "other", "type_spec": "other", "type_alias": "other",
    "parameter_declaration": "parameter", "variadic_parameter_declaration": "parameter",
    "type_parameter_declaration": "parameter",
}  # fmt: skip


def visit(node: Node, scope: Scope, source: Source, found: FoundNames) -> list[Node] | None:
    """See `binding.Visit`."""
    match node.type:
        case "function_declaration":
            return _without(node, _bind(node.children_by_field_name("name"), scope.parent or scope, source, "function"))
        case kind if kind in _NAMED:
            return _without(node, _bind(node.children_by_field_name("name"), scope, source, _NAMED[kind]))  # type: ignore[arg-type]
        case "import_spec":
            _import(node, scope, source)
            return []
        case "package_clause":
            return []
        case "short_var_declaration" | "assignment_statement" | "range_clause" | "receive_statement":
            return _assigned(node, scope, source)
        case "type_switch_statement":
            return _without(node, _bind_list(node.child_by_field_name("alias"), scope, source))
        case "inc_statement" | "dec_statement":
            return [child for child in node.named_children if child.type != "identifier"]
        case "keyed_element":
            return _keyed(node, scope, source, found)
        case kind if kind in _READ and source.said(node) != "_":
            found.read(source.said(node), scope)
    return None


def _without(node: Node, names: list[Node]) -> list[Node]:
    ids = {name.id for name in names}
    return [child for child in node.named_children if child.id not in ids]


def _bind(names: list[Node], scope: Scope, source: Source, kind: Kind) -> list[Node]:
    for name in names:
        scope.bind(source.said(name), kind, name)
    return names


def _bind_list(names: Node | None, scope: Scope, source: Source) -> list[Node]:
    """Bind the names of a list on the left of `:=`; a name that its scope already has is only written."""
    if names is None:
        return []
    for name in names.named_children:
        if name.type == "identifier" and source.said(name) not in scope.bound:
            scope.bind(source.said(name), "local", name)
    return [names]


def _assigned(node: Node, scope: Scope, source: Source) -> list[Node]:
    """`:=` binds the names on its left; `=` writes them."""
    left = node.child_by_field_name("left")
    if left is None:
        return node.named_children
    rest = _without(node, [left])
    if any(child.type == ":=" for child in node.children):
        _bind_list(left, scope, source)
        return rest
    plain = node.type != "assignment_statement" or len(node.children) < 2 or node.children[1].type.endswith("=")
    targets = [n for n in left.named_children if n.type != "identifier"] if plain else left.named_children
    return [*targets, *rest]


def _keyed(node: Node, scope: Scope, source: Source, found: FoundNames) -> list[Node]:
    """A key is a field, or a name that is read: that depends on types, which are not known here."""
    key = node.child_by_field_name("key")
    inner = key.named_children[0] if key is not None and key.named_children else None
    if key is None or inner is None or inner.type != "identifier":
        return node.named_children
    found.read(source.said(inner), scope, maybe=True)
    return _without(node, [key])


def _import(node: Node, scope: Scope, source: Source) -> None:
    """Bind an import: by its given name, else by the names that the last parts of its path may mean."""
    name, path = node.child_by_field_name("name"), node.child_by_field_name("path")
    if name is not None:
        if name.type not in ("dot", "blank_identifier"):
            scope.bind(source.said(name), "import", node)
        return
    parts = source.said(path).strip('"`').split("/") if path is not None else []
    if len(parts) > 1 and parts[-1][:1] == "v" and parts[-1][1:].isdigit():
        parts.pop()
    last = parts[-1].split(".v")[0] if parts else ""
    last = last.removeprefix("go-").removesuffix("-go").removesuffix(".go")
    scope.bind(last.rsplit("-", 1)[-1], "import", node)
