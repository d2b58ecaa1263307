"""What JavaScript's nodes bind and read."""

from tree_sitter import Node

from selfplay.syntax.names import FoundNames, Kind, Scope
from selfplay.syntax.source import Source

BLOCKS = frozenset(
    ["statement_block", "for_statement", "for_in_statement", "switch_body", "catch_clause", "class_body", "class"]
)
_PATTERNS = frozenset(
    ["object_pattern", "array_pattern", "rest_pattern", "pair_pattern", "assignment_pattern",
     "object_assignment_pattern"]
)  # fmt: skip
_DECLARED = {"lexical_declaration": False, "variable_declaration": True}
"""Keyword -> whether its declarations live in the whole function."""


def visit(node: Node, scope: Scope, source: Source, found: FoundNames) -> list[Node] | None:
    """See `binding.Visit`."""
    match node.type:
        case kind if kind in source.grammar.functions:
            return _function(node, scope, source)
        case "class_declaration":
            _bind_name(node, scope, source, "other" if _is_exported(node, source) else "function")
            return _unnamed(node)
        case "class":
            _bind_name(node, scope, source, "other")
            return _unnamed(node)
        case "variable_declarator":
            return _declarator(node, scope, source)
        case "for_in_statement":
            return _for_in(node, scope, source, found)
        case "catch_clause":
            return [*bind_pattern(node.child_by_field_name("parameter"), scope, source, "parameter"), *_bodies(node)]
        case "import_statement":
            _import(node, scope, source)
            return []
        case "export_statement" if node.child_by_field_name("source") is not None:
            return []
        case "export_specifier":
            return [name] if (name := node.child_by_field_name("name")) else []
        case "assignment_expression" | "augmented_assignment_expression":
            return _assignment(node, scope, source, found)
        case "update_expression" if _is_statement(node, source):
            return [child for child in node.named_children if child.type != "identifier"]
        case "identifier" | "shorthand_property_identifier":
            if not _is_tag(node, source):
                found.read(source.said(node), scope)
    return None


def _function(node: Node, scope: Scope, source: Source) -> list[Node]:
    """Bind a function's name: a declaration's outside it, an expression's inside it."""
    if node.type.endswith("_declaration"):
        outer = scope.parent or scope
        _bind_name(node, outer, source, "other" if _is_exported(node, source) else "function")
    elif node.type in ("function_expression", "generator_function"):
        _bind_name(node, scope, source, "other")
    parameters = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
    rest: list[Node] = []
    for one in (
        [parameters]
        if parameters is not None and parameters.type == "identifier"
        else (parameters.named_children if parameters is not None else [])
    ):
        rest += bind_pattern(one, scope, source, "parameter")
    name = node.child_by_field_name("name")
    computed = [name] if name is not None and name.type == "computed_property_name" else []
    return [*computed, *rest, *_bodies(node)]


def _bodies(node: Node) -> list[Node]:
    body = node.child_by_field_name("body")
    return [body] if body is not None else []


def _declarator(node: Node, scope: Scope, source: Source) -> list[Node]:
    holder = source.parent(node)
    hoisted = holder is not None and _DECLARED.get(holder.type, False)
    home = scope.home() if hoisted else scope
    value = node.child_by_field_name("value")
    kind: Kind = "import" if value is not None and _is_require(value, source) else "local"
    if holder is not None and _is_exported(holder, source):
        kind = "other"
    rest = bind_pattern(node.child_by_field_name("name"), home, source, kind)
    return [*rest, *([value] if value is not None else [])]


def _for_in(node: Node, scope: Scope, source: Source, found: FoundNames) -> list[Node]:
    left = node.child_by_field_name("left")
    rest = [child for child in node.named_children if child != left]
    if node.child_by_field_name("kind") is not None:
        kind = source.said(node.child_by_field_name("kind"))  # type: ignore[arg-type]
        return [*bind_pattern(left, scope.home() if kind == "var" else scope, source, "parameter"), *rest]
    return [*_written(left), *rest]


def _import(node: Node, scope: Scope, source: Source) -> None:
    clause = next((n for n in node.named_children if n.type == "import_clause"), None)
    for one in clause.named_children if clause is not None else []:
        if one.type == "identifier":
            scope.bind(source.said(one), "import", one)
        elif one.type == "namespace_import":
            scope.bind(source.said(one.named_children[0]), "import", one)
        for name in one.named_children if one.type == "named_imports" else []:
            called = name.child_by_field_name("alias") or name.child_by_field_name("name")
            if called is not None:
                scope.bind(source.said(called), "import", name)


def _assignment(node: Node, scope: Scope, source: Source, found: FoundNames) -> list[Node]:
    """`x = 1` and `x += 1` as statements only write `x`; inside an expression their value is also read."""
    left = node.child_by_field_name("left")
    rest = [child for child in node.named_children if child != left]
    if left is not None and left.type == "identifier" and not _is_statement(node, source):
        found.read(source.said(left), scope, maybe=True)
    return [*_written(left), *rest]


def _written(target: Node | None) -> list[Node]:
    """The parts of an assignment target that are read: `a.b` reads `a`."""
    if target is None or target.type in ("identifier", "shorthand_property_identifier_pattern"):
        return []
    if target.type in _PATTERNS:
        return [part for child in target.named_children for part in _written(child)]
    return [target]


def bind_pattern(pattern: Node | None, scope: Scope, source: Source, kind: Kind) -> list[Node]:
    """Bind the names of a pattern; its defaults and computed keys are left to visit."""
    rest, waiting = list[Node](), [pattern] if pattern is not None else []
    while waiting:
        node = waiting.pop()
        match node.type:
            case "identifier" | "shorthand_property_identifier_pattern":
                scope.bind(source.said(node), kind, node)
            case "assignment_pattern" | "object_assignment_pattern":
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                waiting += [left] if left is not None else []
                rest += [right] if right is not None else []
            case "pair_pattern":
                value, key = node.child_by_field_name("value"), node.child_by_field_name("key")
                waiting += [value] if value is not None else []
                rest += [key] if key is not None and key.type == "computed_property_name" else []
            case type_ if type_ in _PATTERNS:
                waiting += node.named_children
    return rest


def _bind_name(node: Node, scope: Scope, source: Source, kind: Kind) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        scope.bind(source.said(name), kind, node)


def _unnamed(node: Node) -> list[Node]:
    name = node.child_by_field_name("name")
    return [child for child in node.named_children if child != name]


def _is_exported(node: Node, source: Source) -> bool:
    return source.stands_in(node, "export_statement")


def _is_statement(node: Node, source: Source) -> bool:
    return source.stands_in(node, "expression_statement", "for_statement")


def _is_require(value: Node, source: Source) -> bool:
    while value.type == "member_expression":
        inner = value.child_by_field_name("object")
        if inner is None:
            return False
        value = inner
    called = value.child_by_field_name("function") if value.type == "call_expression" else None
    return called is not None and source.said(called) == "require"


def _is_tag(node: Node, source: Source) -> bool:
    """Whether the node names an HTML element in JSX."""
    holder = source.parent(node)
    tag = holder is not None and holder.type.startswith("jsx_") and holder.type.endswith("element")
    return tag and source.said(node)[:1].islower()
