"""The shape of functions: which do nothing, which always end in a return, and how many statements they have."""

from functools import lru_cache

from tree_sitter import Node

from selfplay.syntax.grammar import Grammar, walk
from selfplay.syntax.removed_code import Shape, losses
from selfplay.syntax.source import Function, Source, parse, statements

ENDS = frozenset(["panic", "os.Exit", "log.Fatal", "log.Fatalf"])


def stubs(language: str, before: str, after: str) -> list[str]:
    """What the named functions of a source lost, in words; only those that exist before and after. Raises
    `Unreadable`."""
    return losses(shapes(language, before), shapes(language, after))


@lru_cache(maxsize=64)
def shapes(language: str, text: str) -> dict[str, Shape]:
    """Dotted name -> shape of each named function. Raises `Unreadable`."""
    source = parse(language, text)
    blocks = _blocks(source)
    return {
        function.name: Shape(_is_stub(function, source), _ends(function.body, source), *blocks[function.node.id])
        for function in source.functions()
        if function.name
    }


def _blocks(source: Source) -> dict[int, tuple[int, int]]:
    """Function -> its emptied blocks and its statements, with those of the functions inside it. One walk for all: each
    block counts for its own function, and each function then for the one around it."""
    grammar = source.grammar
    counts: dict[int, list[int]] = {0: [0, 0]}
    around: list[tuple[int, int]] = []
    waiting = [(source.root, 0)]
    while waiting:
        node, function = waiting.pop()
        if node.type in grammar.functions:
            around.append((node.id, function))
            function, counts[node.id] = node.id, [0, 0]
        if _is_block(node, grammar):
            inside = statements(node, grammar)
            counts[function][0] += not inside and _is_emptied(node, source)
            counts[function][1] += len(inside)
        waiting.extend((child, function) for child in node.named_children)
    for inner, outer in reversed(around):
        for which in (0, 1):
            counts[outer][which] += counts[inner][which]
    return {function: (empty, size) for function, (empty, size) in counts.items()}


def _is_block(node: Node, grammar: Grammar) -> bool:
    return node.type in ("statement_block", "block") or node.type in grammar.cases


def _is_emptied(block: Node, source: Source) -> bool:
    """Whether a block without statements belongs to a statement. Empty functions, cases and handlers do not count: they
    may be intended."""
    parent = source.parent(block)
    holder = parent.type if parent is not None else ""
    own = holder in source.grammar.functions or block.type in source.grammar.cases
    return not own and holder != "catch_clause"


def _is_stub(function: Function, source: Source) -> bool:
    """Whether the body only returns nothing, a literal, an empty collection or a parameter."""
    if not _is_block(function.body, source.grammar):
        return False  # an arrow function's expression
    body = statements(function.body, source.grammar)
    if len(body) != 1:
        return not body
    if body[0].type not in source.grammar.returns:
        return False
    value = body[0].named_children[0] if body[0].named_children else None
    if value is not None and value.type == "expression_list" and value.named_child_count == 1:
        value = value.named_children[0]
    return value is None or _says_nothing(value, function, source)


def _says_nothing(value: Node, function: Function, source: Source) -> bool:
    values = value.named_children if value.type == "expression_list" else [value]
    given = function.node.child_by_field_name("parameters")
    names = {source.said(n) for n in walk(given) if n.type == "identifier"} if given is not None else set()
    return all(_is_nothing(one, names, source) for one in values)


def _is_nothing(value: Node, parameters: set[str], source: Source) -> bool:
    if value.type in ("object", "array"):
        return not value.named_child_count
    if value.type != "identifier":
        return value.type in source.grammar.literals
    return source.said(value) in parameters


def _ends(node: Node | None, source: Source) -> bool:
    """Whether a statement, or the last one of a block, always ends by returning a value or raising an error."""
    if node is None:
        return False
    if node.type in source.grammar.returns:
        return node.named_child_count > 0
    if node.type in source.grammar.raises:
        return True
    match node.type:
        case (
            "statement_block"
            | "block"
            | "switch_case"
            | "switch_default"
            | "expression_case"
            | "type_case"
            | "default_case"
        ):
            body = statements(node, source.grammar)
            return bool(body) and _ends(body[-1], source)
        case "if_statement":
            return all(_ends(node.child_by_field_name(arm), source) for arm in ("consequence", "alternative"))
        case "else_clause":
            return _ends(node.named_children[-1], source)
        case "expression_statement":
            called = node.named_children[0].child_by_field_name("function") if node.named_children else None
            return called is not None and source.said(called) in ENDS
        case "try_statement":
            return all(_ends(_block(node, part), source) for part in ("body", "handler"))
        case "switch_statement" | "expression_switch_statement" | "type_switch_statement":
            return _switch_ends(node, source)
        case "for_statement":
            return node.named_child_count == 1  # Go's endless loop
    return False


def _block(node: Node, part: str) -> Node | None:
    found = node.child_by_field_name(part)
    return found.child_by_field_name("body") if found is not None and found.type == "catch_clause" else found


def _switch_ends(node: Node, source: Source) -> bool:
    holder = node.child_by_field_name("body") if node.type == "switch_statement" else node
    arms = [n for n in holder.named_children if n.type in source.grammar.cases] if holder is not None else []
    default = any(arm.type in ("switch_default", "default_case") for arm in arms)
    full = [arm for arm in arms if statements(arm, source.grammar)]  # empty ones fall through
    return default and all(_ends(arm, source) for arm in full)
