"""The removal strategy by tree: branches, loops, error handling, statements, parts of expressions, never a whole body.

Every function here proposes cuts of one function; `edits.made` checks the result for undefined names, unused names and
stubs.
"""

from collections.abc import Iterator

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
        case kind if kind in source.grammar.cases and not kind.startswith("default"):
            cut = without(source, [node], "removed a case")
            yield from [cut] if cut is not None else []


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
                yield cut


def _branches(source: Source, node: Node) -> Iterator[Cut]:
    """Remove one arm of an `if`: the first with its condition (the next takes over), or the last."""
    other, taken = node.child_by_field_name("alternative"), node.child_by_field_name("consequence")
    if other is None or taken is None:
        return
    inner = other.named_children[-1] if other.type == "else_clause" else other
    if inner.type == "if_statement":
        yield replaced(source, node.start_byte, inner.end_byte, source.said(inner), "removed a branch of a condition")
    else:
        yield replaced(source, taken.end_byte, other.end_byte, "", "removed an else branch")


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
        yield Cut(first_line(node), last_line(node), moved, "removed error handling")


def _sides(source: Source, node: Node) -> Iterator[Cut]:
    """One side of `&&`, `||`, `??`."""
    sign, left, right = (node.child_by_field_name(name) for name in ("operator", "left", "right"))
    if sign is None or left is None or right is None or sign.type not in ("&&", "||", "??"):
        return
    yield replaced(source, left.end_byte, right.end_byte, "", "removed a condition")
    if sign.type != "??":
        yield replaced(source, left.start_byte, right.start_byte, "", "removed a condition")


def _arms(source: Source, node: Node) -> Iterator[Cut]:
    for name in ("consequence", "alternative"):
        arm = node.child_by_field_name(name)
        if arm is not None:
            yield replaced(source, node.start_byte, node.end_byte, source.said(arm), "removed a choice")


def _steps(source: Source, node: Node) -> Iterator[Cut]:
    """A step of a chain, and a function around a value."""
    called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None or given is None:
        return
    inner, name = called.child_by_field_name("object"), called.child_by_field_name("property")
    if inner is not None and name is not None and source.said(name) in STEPS:
        yield replaced(source, inner.end_byte, node.end_byte, "", "removed a step")
    if source.said(called) in WRAPS and given.named_child_count:
        first = given.named_children[0]
        yield replaced(source, node.start_byte, node.end_byte, source.said(first), "removed a step")


def _members(source: Source, node: Node) -> Iterator[Cut]:
    """An option of an object, a field of a literal."""
    for one in node.named_children:
        if one.type in ("pair", "keyed_element", "spread_element", "shorthand_property_identifier"):
            yield replaced(source, *element(source, one), "", "removed an option")


def _describe(run: list[Node], source: Source) -> str:
    kinds = {
        "if_statement": "a condition",
        "try_statement": "error handling",
        **dict.fromkeys(source.grammar.loops, "a loop"),
    }
    if len(run) > 1:
        return f"{len(run)} statements"
    return kinds.get(run[0].type, "a statement")
