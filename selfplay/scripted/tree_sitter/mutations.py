"""The direct strategy by tree: one expression changed, as by mistake.

Kinds: boundary, order, condition, default, state, error path, encoding, aliasing, as in Python (`injector/direct.py`,
`mutations.py`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from selfplay.scripted.edits.cuts import Cut
from selfplay.scripted.tree_sitter.spans import replaced
from selfplay.syntax import Source
from selfplay.syntax.grammar import walk
from selfplay.syntax.source import Function


class Edit(NamedTuple):
    """The bytes `start`..`end` become `new`; `what`: the kind, in words."""

    start: int
    end: int
    new: str
    what: str


OPERATORS = {
    "<": ("<=", "moved a boundary"), "<=": ("<", "moved a boundary"), ">": (">=", "moved a boundary"),
    ">=": (">", "moved a boundary"), "==": ("!=", "inverted a comparison"), "!=": ("==", "inverted a comparison"),
    "===": ("!==", "inverted a comparison"), "!==": ("===", "inverted a comparison"),
    "&&": ("||", "changed a condition"), "||": ("&&", "changed a condition"), "??": ("||", "changed a default"),
    "-": ("+", "changed an operator"), "*": ("+", "changed an operator"), "%": ("/", "changed an operator"),
    "<<": (">>", "changed an operator"), ">>": ("<<", "changed an operator"), "&": ("|", "changed an operator"),
    "&^": ("&", "changed an operator"),
}  # fmt: skip
STATE = frozenset(["+=", "-=", "||=", "??=", "|="])
ENDS = {
    "startsWith": "endsWith", "indexOf": "lastIndexOf", "trimStart": "trimEnd", "shift": "pop", "unshift": "push",
    "padStart": "padEnd", "find": "findLast", "findIndex": "findLastIndex", "reduce": "reduceRight", "floor": "ceil",
    "HasPrefix": "HasSuffix", "TrimPrefix": "TrimSuffix", "TrimLeft": "TrimRight", "Index": "LastIndex",
    "IndexByte": "LastIndexByte",
}  # fmt: skip
"""Pairs of methods that work at opposite ends or in opposite orders."""
ENDS |= {other: one for one, other in ENDS.items()}
ORDERS = {
    "min": "max", "max": "min", "some": "every", "every": "some", "toLowerCase": "toUpperCase",
    "toUpperCase": "toLowerCase", "ToLower": "ToUpper", "ToUpper": "ToLower", "Before": "After", "After": "Before",
}  # fmt: skip
ERRORS = {"TypeError": "RangeError", "RangeError": "TypeError", "SyntaxError": "TypeError", "Error": "TypeError"}
ENCODINGS = {"utf8": "latin1", "utf-8": "latin1", "base64": "base64url", "hex": "base64"}
COPIES = frozenset(["slice", "concat"])


def mutation_cuts(source: Source, function: Function) -> list[Cut]:
    """Changes of single expressions of a function and of its parameters' defaults."""
    nodes = [function.body, *([p] if (p := function.node.child_by_field_name("parameters")) is not None else [])]
    found = (edit for top in nodes for node in walk(top) for edit in _of(source, node))
    return [replaced(source, *edit) for edit in dict.fromkeys(found)]


def _of(source: Source, node: Node) -> Iterator[Edit]:
    match node.type:
        case "binary_expression":
            yield from _operator(source, node)
        case "augmented_assignment_expression" | "assignment_statement":
            yield from _state(node)
        case "unary_expression":
            yield from _negation(node)
        case "true" | "false":
            yield Edit(
                node.start_byte, node.end_byte, "false" if node.type == "true" else "true", _constant(source, node)
            )
        case "number" | "int_literal" if (said := source.said(node)).isdecimal():
            yield Edit(node.start_byte, node.end_byte, str(int(said) + 1), _constant(source, node))
        case "call_expression":
            yield from _call(source, node)
        case "new_expression" if source.stands_in(node, "throw_statement"):
            yield from _error(source, node)
        case "string_fragment" | "interpreted_string_literal_content" if source.said(node) in ENCODINGS:
            yield Edit(node.start_byte, node.end_byte, ENCODINGS[source.said(node)], "changed an encoding")
        case "array" if node.named_child_count == 1 and node.named_children[0].type == "spread_element":
            yield _inner(source, node, node.named_children[0].named_children[0])
        case "return_statement" if source.grammar.name == "go":
            yield from _swallowed(source, node)


def _operator(source: Source, node: Node) -> Iterator[Edit]:
    sign = node.child_by_field_name("operator")
    if sign is not None and sign.type in OPERATORS:
        new, what = OPERATORS[sign.type]
        text = any(n.type.endswith(("string", "string_literal")) for n in node.named_children)
        nothing = any(n.type in ("null", "undefined", "nil") for n in node.named_children)
        if not (text and what == "changed an operator"):
            yield Edit(sign.start_byte, sign.end_byte, new, "changed a guard" if nothing else what)


def _state(node: Node) -> Iterator[Edit]:
    """`=` in place of an augmented assignment."""
    sign = next((n for n in node.children if n.type in STATE), None)
    if sign is not None:
        yield Edit(sign.start_byte, sign.end_byte, "=", "set what was added to")


def _negation(node: Node) -> Iterator[Edit]:
    sign, operand = (
        node.child_by_field_name("operator"),
        node.child_by_field_name("argument") or node.child_by_field_name("operand"),
    )
    if sign is not None and operand is not None and sign.type == "!":
        yield Edit(node.start_byte, operand.start_byte, "", "dropped a negation")


def _constant(source: Source, node: Node) -> str:
    """Whether a literal is a default: of a parameter, or the other side of `||` and `??`."""
    holder = source.parent(node)
    if holder is None:
        return "changed a constant"
    sign = holder.child_by_field_name("operator")
    default = holder.type in ("assignment_pattern", "object_assignment_pattern") or (
        sign is not None and sign.type in ("||", "??")
    )
    return "changed a default" if default else "changed a constant"


def _call(source: Source, node: Node) -> Iterator[Edit]:
    called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None or given is None:
        return
    name = called.child_by_field_name("property") or called.child_by_field_name("field") or called
    said, inner = source.said(name), called.child_by_field_name("object")
    if said in ENDS and name != called:
        yield Edit(name.start_byte, name.end_byte, ENDS[said], "took the other end")
    elif said in ORDERS and name != called:
        yield Edit(name.start_byte, name.end_byte, ORDERS[said], "took the other order")
    if said in COPIES and inner is not None and not given.named_child_count:
        yield _inner(source, node, inner)
    arguments = given.named_children
    if source.said(called) == "Object.assign" and len(arguments) == 2 and source.said(arguments[0]) == "{}":
        yield _inner(source, node, arguments[1])
    if (
        source.said(called) == "append"
        and len(arguments) == 2
        and arguments[0].type != "identifier"
        and arguments[1].type == "variadic_argument"
    ):
        yield _inner(source, node, arguments[1].named_children[0])


def _inner(source: Source, node: Node, inner: Node) -> Edit:
    return Edit(node.start_byte, node.end_byte, source.said(inner), "left out a copy")


def _error(source: Source, node: Node) -> Iterator[Edit]:
    name = node.child_by_field_name("constructor")
    if name is not None and source.said(name) in ERRORS:
        yield Edit(name.start_byte, name.end_byte, ERRORS[source.said(name)], "changed an error")


def _swallowed(source: Source, node: Node) -> Iterator[Edit]:
    """`return x, err` changed to report no error."""
    values = node.named_children[0].named_children if node.named_children else []
    if len(values) > 1 and source.said(values[-1]) == "err":
        yield Edit(values[-1].start_byte, values[-1].end_byte, "nil", "lost an error")
