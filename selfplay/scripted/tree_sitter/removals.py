"""The removal strategy by tree: branches, loops, error handling, statements, parts of expressions, never a whole body.

Every function here proposes cuts of one function; `edits.made` checks the result for undefined names, unused names and
stubs. Which test runs which line is not known here, so a special case is told by its form: a condition without an
`else`, an arm, a case, a handler, a part of an expression.
"""

from collections.abc import Iterator
from dataclasses import replace

from tree_sitter import Node

from selfplay.scripted.edits.cuts import Cut
from selfplay.scripted.tree_sitter.spans import element, replaced, without
from selfplay.syntax import Source
from selfplay.syntax.grammar import walk
from selfplay.syntax.source import Function, first_line, last_line, statements

MAX_RUN_LINES, MAX_RUN = 40, 6
"""Lines and statements that are removed together."""
STEPS = frozenset(
    ["filter", "slice", "trim", "trimStart", "trimEnd", "toLowerCase", "toUpperCase", "sort", "reverse", "concat",
     "replace", "replaceAll", "flat", "normalize"]
)  # fmt: skip
"""Methods whose result is of the kind of what they are called on: a chain does without such a step."""
WRAPS = frozenset(
    ["strings.TrimSpace", "strings.ToLower", "strings.ToUpper", "strings.Trim", "strings.TrimLeft", "strings.TrimRight",
     "strings.TrimPrefix", "strings.TrimSuffix", "strings.ReplaceAll", "strings.Replace", "strings.Title", "path.Clean",
     "filepath.Clean", "math.Abs", "math.Floor", "math.Ceil", "bytes.TrimSpace", "url.QueryEscape", "Math.abs",
     "Math.floor", "Math.round", "encodeURIComponent", "decodeURIComponent", "path.normalize", "path.resolve"]
)  # fmt: skip
"""Functions whose result has the type of their first argument."""
SETS = frozenset(
    ["lexical_declaration", "variable_declaration", "short_var_declaration", "var_declaration", "assignment_statement"]
)
"""Statements that only give a name a value."""
DECLARED = frozenset(["variable_declarator", "var_spec"])
PLAIN = frozenset(["identifier", "member_expression", "subscript_expression", "call_expression", "selector_expression"])
HEADS = frozenset(
    ["if_statement", "while_statement", "do_statement", "switch_statement", "for_statement", "with_statement"]
)
ALONE = frozenset(["variable_declarator", "assignment_expression", "return_statement", "pair"])
"""Expressions that need no brackets, statements whose head is in brackets, and what takes an expression without any."""
SPECIAL = (0, 0)
"""A cut that leaves out a special case (`Cut.case`); the lines that run in it alone are asked for by no one here."""


def removal_cuts(source: Source, function: Function) -> list[Cut]:
    """All cuts the strategy knows in a function, in a fixed order."""
    found = [cut for node in walk(function.body) for cut in _of(source, node, function)]
    return list({(cut.start, cut.end, cut.lines): cut for cut in found}.values())


def _of(source: Source, node: Node, function: Function) -> Iterator[Cut]:
    if node.type in source.grammar.blocks:
        yield from _runs(source, node)
    match node.type:
        case "if_statement":
            yield from _branches(source, node)
        case "try_statement":
            yield from _handling(source, node)
        case "binary_expression":
            yield from _sides(source, node)
        case "ternary_expression":
            yield from _arms(source, node)
        case "call_expression":
            yield from _steps(source, node)
        case "object" | "literal_value" if node.named_child_count > 1:
            yield from _members(source, node)
        case kind if kind in source.grammar.cases:
            yield from _case(source, node)


def _runs(source: Source, block: Node) -> Iterator[Cut]:
    """Neighbouring statements of a block, not all of them."""
    every = statements(block, source.grammar)
    for first in range(len(every)):
        for last in range(first, min(len(every), first + MAX_RUN)):
            run = every[first : last + 1]
            if len(run) == len(every) or last_line(run[-1]) - first_line(run[0]) >= MAX_RUN_LINES:
                break
            cut = without(source, run, f"removed {_describe(run, source)}")
            if cut is not None:
                yield replace(cut, case=SPECIAL) if _is_guarded(source, run) else cut


def _is_guarded(source: Source, run: list[Node]) -> bool:
    """Whether the run is a condition without an `else`, with the names that are set for it right before it."""
    *before, last = run
    if last.type != "if_statement" or last.child_by_field_name("alternative") is not None:
        return False
    read = {source.said(node) for node in walk(last) if node.type == "identifier"}
    return all(one.type in SETS and set(_bound(source, one)) <= read for one in before)


def _bound(source: Source, statement: Node) -> list[str]:
    """What a statement gives a value, as source; a place in something else is no name."""
    if statement.type in ("lexical_declaration", "variable_declaration", "var_declaration"):
        named = (one.child_by_field_name("name") for one in walk(statement) if one.type in DECLARED)
        return [source.said(one) for one in named if one is not None]
    left = statement.child_by_field_name("left")
    return [source.said(one) for one in left.named_children] if left is not None else [""]


def _case(source: Source, node: Node) -> Iterator[Cut]:
    """Remove a case with the labels that share its code; never what all other values have."""
    if node.type.startswith(("default", "switch_default")):
        return
    group, above = [node], node.prev_named_sibling
    while above is not None and above.type in source.grammar.cases and not statements(above, source.grammar):
        group, above = [above, *group], above.prev_named_sibling
    cut = without(source, group, "removed a case")
    if cut is not None:
        yield replace(cut, case=SPECIAL)


def _branches(source: Source, node: Node) -> Iterator[Cut]:
    """Remove one arm of an `if`: the first with its condition (the next takes over), or the last."""
    other, taken = node.child_by_field_name("alternative"), node.child_by_field_name("consequence")
    if other is None or taken is None:
        return
    inner = other.named_children[-1] if other.type == "else_clause" else other
    if inner.type == "if_statement":
        yield _left_out(source, node.start_byte, inner.end_byte, source.said(inner), "removed a branch of a condition")
    else:
        yield _left_out(source, taken.end_byte, other.end_byte, "", "removed an else branch")


def _handling(source: Source, node: Node) -> Iterator[Cut]:
    """Remove error handling: the body stays, a step further left."""
    body, last = node.child_by_field_name("body"), node.child_by_field_name("finalizer")
    inside = statements(body, source.grammar) if body is not None else []
    own = [n for n in walk(node) if n.type == "template_string" and last_line(n) > first_line(n)]
    if not inside or last is not None or own or inside[0].start_point[0] == node.start_point[0]:
        return
    indent = (
        b" " * node.start_point[1]
        if source.data[node.start_byte - 1 : node.start_byte] != b"\t"
        else b"\t" * node.start_point[1]
    )
    lines = source.lines[first_line(inside[0]) - 1 : last_line(inside[-1])]
    old = len(lines[0]) - len(lines[0].lstrip())
    moved = tuple((indent + line[old:] if line.strip() else line).decode("utf-8", "surrogateescape") for line in lines)
    if all(not line[:old].strip() for line in lines):
        yield Cut(first_line(node), last_line(node), moved, "removed error handling", SPECIAL)


def _sides(source: Source, node: Node) -> Iterator[Cut]:
    """One side of `&&`, `||`, `??`."""
    sign, left, right = (node.child_by_field_name(name) for name in ("operator", "left", "right"))
    if sign is None or left is None or right is None or sign.type not in ("&&", "||", "??"):
        return
    for kept in (left, right) if sign.type != "??" else (left,):
        whole = _in_brackets(source, node, kept)
        if kept.type == "parenthesized_expression" and source.stands_in(whole, *ALONE):
            kept = kept.named_children[-1]
        yield _left_out(source, whole.start_byte, whole.end_byte, source.said(kept), "removed a condition")


def _in_brackets(source: Source, node: Node, kept: Node) -> Node:
    """The node with brackets around it that what is kept of it does not need."""
    holder = source.parent(node)
    if holder is None or holder.type != "parenthesized_expression" or kept.type not in PLAIN:
        return node
    return node if source.stands_in(holder, *HEADS) else holder


def _arms(source: Source, node: Node) -> Iterator[Cut]:
    for name in ("consequence", "alternative"):
        arm = node.child_by_field_name(name)
        if arm is not None and arm.type != "identifier" and arm.type not in source.grammar.literals:
            yield _left_out(source, node.start_byte, node.end_byte, source.said(arm), "removed a choice")


def _steps(source: Source, node: Node) -> Iterator[Cut]:
    """A step of a chain, unless it is given the code of a whole function; and a function around a value."""
    called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None or given is None:
        return
    inner, name = called.child_by_field_name("object"), called.child_by_field_name("property")
    small = not any(one.type in source.grammar.blocks for one in walk(given))
    if inner is not None and name is not None and source.said(name) in STEPS and small:
        yield _left_out(source, inner.end_byte, node.end_byte, "", "removed a step")
    if source.said(called) in WRAPS and given.named_child_count:
        first = given.named_children[0]
        yield _left_out(source, node.start_byte, node.end_byte, source.said(first), "removed a step")


def _members(source: Source, node: Node) -> Iterator[Cut]:
    """An option of an object, a field of a literal."""
    for one in node.named_children:
        if one.type in ("pair", "keyed_element", "spread_element", "shorthand_property_identifier"):
            yield _left_out(source, *element(source, one), "", "removed an option")


def _left_out(source: Source, start: int, end: int, new: str, what: str) -> Cut:
    return replace(replaced(source, start, end, new, what), case=SPECIAL)


def _describe(run: list[Node], source: Source) -> str:
    kinds = {
        "if_statement": "a condition",
        "try_statement": "error handling",
        **dict.fromkeys(source.grammar.loops, "a loop"),
    }
    if len(run) > 1:
        return f"{len(run)} statements"
    return kinds.get(run[0].type, "a statement")
