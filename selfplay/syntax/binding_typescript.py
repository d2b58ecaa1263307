"""What TypeScript's nodes bind and read: those of JavaScript, and types.

Types live beside values under the same names. A name that stands for a type counts as read if it is bound, since many
types come with the language, and from files that declare them.
"""

from tree_sitter import Node

from selfplay.syntax import binding_javascript
from selfplay.syntax.binding_javascript import bind_pattern
from selfplay.syntax.grammar import walk
from selfplay.syntax.names import FoundNames, Scope
from selfplay.syntax.source import Source

BLOCKS = binding_javascript.BLOCKS | {"interface_body", "object_type"}
_DECLARATIONS = frozenset(
    ["interface_declaration", "type_alias_declaration", "enum_declaration", "abstract_class_declaration",
     "internal_module", "module", "function_signature"]
)  # fmt: skip
_PARAMETERS = frozenset(["required_parameter", "optional_parameter"])
_TYPES = ("type_parameters", "return_type", "type")


def visit(node: Node, scope: Scope, source: Source, found: FoundNames) -> list[Node] | None:
    """See `binding.Visit`."""
    match node.type:
        case "type_identifier":
            found.read(source.said(node), scope, maybe=True)
            return []
        case kind if kind in _DECLARATIONS:
            name = node.child_by_field_name("name")
            if name is not None and name.type != "string":  # of `namespace a.b`, `a`
                scope.bind(source.said(name).partition(".")[0].strip(), "other", node)
            return [child for child in node.named_children if child != name]
        case kind if kind in _PARAMETERS:  # of a type: a function's own are bound with it
            return _typed(node)
        case "index_signature":
            return [child for child in node.named_children if child.type != "identifier"]
        case "type_predicate" | "asserts":
            for child in node.named_children:
                if child.type == "identifier":
                    found.read(source.said(child), scope, maybe=True)
            return [child for child in node.named_children if child.type != "identifier"]
        case "enum_body":  # a member's value may name other members
            for name in walk(node):
                if name.type == "identifier":
                    found.read(source.said(name), scope, maybe=True)
            return []
        case kind if kind in source.grammar.functions:
            return [*_function(node, scope, source, found), *_typed(node)]
        case "variable_declarator":
            return [*(binding_javascript.visit(node, scope, source, found) or ()), *_typed(node)]
        case "import_alias":
            scope.bind(source.said(node.named_children[0]), "import", node)
            return node.named_children[1:]
        case "import_statement":
            for clause in node.named_children:
                if clause.type == "import_require_clause":
                    scope.bind(source.said(clause.named_children[0]), "import", clause)
    return binding_javascript.visit(node, scope, source, found)


def _function(node: Node, scope: Scope, source: Source, found: FoundNames) -> list[Node]:
    """Bind a function's name and its parameters, each of which is a node of its own with a pattern."""
    rest = binding_javascript.visit(node, scope, source, found) or []
    parameters = node.child_by_field_name("parameters")
    for one in parameters.named_children if parameters is not None else []:
        pattern, value = one.child_by_field_name("pattern"), one.child_by_field_name("value")
        if pattern is not None and pattern.type != "this":
            rest += bind_pattern(pattern, scope, source, "other" if _is_property(one) else "parameter")
        rest += [*([value] if value is not None else []), *_typed(one)]
        rest += [child for child in one.named_children if child.type == "decorator"]
    return rest


def _typed(node: Node) -> list[Node]:
    """The types that a node states."""
    return [found for field in _TYPES if (found := node.child_by_field_name(field)) is not None]


def _is_property(parameter: Node) -> bool:
    """Whether a constructor's parameter is a property of its class, too."""
    return any(
        child.type in ("accessibility_modifier", "override_modifier", "readonly") for child in parameter.children
    )
