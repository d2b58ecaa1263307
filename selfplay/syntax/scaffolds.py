"""What a removal leaves standing in JavaScript, TypeScript and Go: code that prepares for, or asks about, what is no
longer done.

As `believable/scaffolds.py` for Python: a parameter that nobody reads any more, a list that nothing fills, a condition
on which nothing depends. Only what is new counts, and the removal strategy alone asks.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from tree_sitter import Node

from selfplay.syntax.grammar import walk
from selfplay.syntax.names import names
from selfplay.syntax.source import Function, Source, parse, statements

READERS = frozenset(
    ["len", "cap", "copy", "print", "String", "Number", "Boolean", "isNaN", "parseInt", "Object.keys", "Object.values",
     "Object.entries", "Array.from", "Array.isArray", "JSON.stringify", "fmt.Sprint", "fmt.Sprintf", "fmt.Errorf"]
)  # fmt: skip
"""Functions that only read what they are given."""
KEEPING = frozenset(
    ["join", "map", "filter", "slice", "concat", "indexOf", "includes", "some", "every", "find", "has", "get", "keys",
     "values", "entries", "forEach", "reduce", "toString", "length", "sort", "reverse", "flat", "trim", "String", "Len"]
)  # fmt: skip
"""Methods that put nothing into their object."""
FILLING = frozenset(
    ["push", "unshift", "splice", "set", "add", "delete", "WriteString", "WriteByte", "WriteRune", "Write"]
)
"""Methods that change their object."""
FILLABLE = frozenset(["[]", "{}", "newMap()", "newSet()", "newArray()", "Object.create(null)"])
SCALAR = frozenset(["", "''", '""', "``", "0", "null", "undefined", "false", "true", "nil", "-1"])
"""Values before anything is done, as source without blanks; the empty one is of a declaration without a value. Those of
Go's composite literals and `make` are told by their form."""
MOST_CHARACTERS = 50_000
"""Of a function that is looked at."""
_INNER = frozenset(["member_expression", "subscript_expression", "selector_expression", "index_expression"])
_SETS = frozenset(["assignment_expression", "augmented_assignment_expression", "assignment_statement", "range_clause"])
Role = Literal["set", "fill", "given", "read"]


class LeftStanding(NamedTuple):
    """What stands in a function. `unfilled`: locals that it reads, and only ever sets to an empty value; `unspent`:
    what begins empty and is filled, never read; `moot`: conditions that change nothing, loops that end in their first
    turn, results of Go that are given to nobody, as source."""

    unfilled: frozenset[str] = frozenset()
    unspent: frozenset[str] = frozenset()
    moot: frozenset[str] = frozenset()


def scaffolds(language: str, before: str, after: str) -> list[str]:
    """What is new of these things in the named functions of both texts, in words. Raises `Unreadable`."""
    gone = names(language, after).unread_parameters - names(language, before).unread_parameters
    found = [f"the parameter {name} is no longer read" for name in sorted(gone)]
    old, new = parse(language, before), parse(language, after)
    was, now = ({f.name: f for f in source.functions() if f.name} for source in (old, new))
    for name in sorted(was.keys() & now.keys()):
        if old.said(was[name].node) != new.said(now[name].node):
            found += _new(name, _standing(old, was[name]), _standing(new, now[name]))
    return found


def _new(name: str, old: LeftStanding, new: LeftStanding) -> Iterator[str]:
    yield from (f"{name} no longer sets {one}" for one in sorted(new.unfilled - old.unfilled))
    yield from (f"{name} fills {one} for nothing" for one in sorted(new.unspent - old.unspent))
    yield from (f"nothing depends on {one} in {name}" for one in sorted(new.moot - old.moot))


def _standing(source: Source, function: Function) -> LeftStanding:
    if function.node.end_byte - function.node.start_byte > MOST_CHARACTERS:
        return LeftStanding()
    begun = _begun(source, function)
    roles = dict[str, set[Role]]()
    for node in walk(function.body):
        said = source.said(node) if node.type in ("identifier", "shorthand_property_identifier") else ""
        if said in begun and node.id not in begun[said].at:
            roles.setdefault(said, set()).add(_role(source, node))
    once = {name: one for name, one in begun.items() if len(one.at) == 1}
    unfilled = {
        name for name, one in once.items()
        if roles.get(name) == {"read"} or (roles.get(name) == {"read", "given"} and not one.fillable)
    }  # fmt: skip
    unspent = {name for name in once if roles.get(name, set()) and roles[name] <= {"set", "fill"}}
    return LeftStanding(frozenset(unfilled), frozenset(unspent), frozenset(_moot(source, function)))


class _Begun(NamedTuple):
    """The declarations of a local that begins empty: the nodes of its name, and whether it can be filled in place."""

    at: set[int]
    fillable: bool


def _begun(source: Source, function: Function) -> dict[str, _Begun]:
    """The locals of a function that are declared, and each time with an empty value."""
    found, other = dict[str, _Begun](), set[str]()
    for node in walk(function.body):
        for name, value in _declared(source, node):
            said = source.said(name)
            text = "".join(source.said(value).split()) if value is not None else ""
            fillable = text in FILLABLE or (value is not None and _is_empty_literal(source, value))
            if not fillable and text not in SCALAR:
                other.add(said)
                continue
            one = found.setdefault(said, _Begun(set(), fillable))
            one.at.add(name.id)
    return {name: one for name, one in found.items() if name not in other}


def _declared(source: Source, node: Node) -> Iterator[tuple[Node, Node | None]]:
    """The names that a node declares, with their values."""
    if node.type == "variable_declarator":
        name = node.child_by_field_name("name")
        looped = source.stands_in(source.parent(node) or node, "for_in_statement")
        if name is not None and name.type == "identifier" and not looped:
            yield name, node.child_by_field_name("value")
    elif node.type == "var_spec":
        value = node.child_by_field_name("value")
        values = value.named_children if value is not None else []
        given = node.children_by_field_name("name")
        yield from zip(given, values if len(values) == len(given) else [None] * len(given), strict=True)
    elif node.type == "short_var_declaration":
        left, right = (node.child_by_field_name(side) for side in ("left", "right"))
        given, values = (side.named_children if side is not None else [] for side in (left, right))
        if len(given) == len(values):
            yield from zip(given, values, strict=True)


def _is_empty_literal(source: Source, value: Node) -> bool:
    """Whether this is one of Go's composite literals without elements, or made by `make` without a length."""
    if value.type == "composite_literal":
        body, kind = value.child_by_field_name("body"), value.child_by_field_name("type")
        filled = body is not None and body.named_child_count > 0
        return not filled and kind is not None and kind.type in ("slice_type", "map_type")
    called, given = value.child_by_field_name("function"), value.child_by_field_name("arguments")
    return called is not None and given is not None and source.said(called) == "make" and given.named_child_count == 1


def _role(source: Source, node: Node) -> Role:
    """What is done with a name where it stands."""
    holder, inner, method = source.parent(node), False, ""
    while holder is not None and (holder.type in _INNER or holder.type == "expression_list"):
        if holder.type in _INNER:
            if holder.named_children[0] != node:
                return "read"  # an index
            inner, method = True, source.said(holder.named_children[-1])
        node, holder = holder, source.parent(holder)
    if holder is None:
        return "read"
    if holder.type in _SETS and holder.child_by_field_name("left") == node:
        return "fill" if inner else "set"
    if holder.type in ("update_expression", "inc_statement", "dec_statement"):
        return "fill" if inner else "set"
    if holder.type == "call_expression" and holder.child_by_field_name("function") == node:
        return "fill" if method in FILLING else "read" if method in KEEPING else "given"
    if holder.type == "unary_expression" and source.data[holder.start_byte : holder.start_byte + 1] == b"&":
        return "given"
    if holder.type in ("arguments", "argument_list"):
        return _given(source, holder)
    return "read"


def _given(source: Source, arguments: Node) -> Role:
    """What a call does with an argument: Go's `x = append(x, ...)` fills `x`."""
    call = source.parent(arguments)
    called = call.child_by_field_name("function") if call is not None else None
    if call is None or called is None:
        return "given"
    if source.said(called) == "append":
        return "set"
    return "read" if source.said(called) in READERS else "given"


def _moot(source: Source, function: Function) -> Iterator[str]:
    """Conditions without which the same is done, the heads of loops that end in their first turn, and, in Go, what
    discards a result."""
    for node in walk(function.body):
        if node.type in ("short_var_declaration", "assignment_statement") and "_" in _left(source, node):
            yield " ".join(source.said(node).split())
        if node.type in source.grammar.loops:
            body = node.child_by_field_name("body")
            if body is not None and _leaves(source, body):
                yield _head(source, node)
        for block in [node] if node.type in source.grammar.blocks else []:
            yield from _moot_in(source, block)


def _left(source: Source, node: Node) -> list[str]:
    left = node.child_by_field_name("left")
    return [source.said(one) for one in left.named_children] if left is not None else []


def _moot_in(source: Source, block: Node) -> Iterator[str]:
    every = statements(block, source.grammar)
    for at, one in enumerate(every):
        if one.type != "if_statement":
            continue
        taken, other = one.child_by_field_name("consequence"), one.child_by_field_name("alternative")
        body = _said(source, taken)
        if other is not None:
            same = body == _said(source, other.named_children[-1] if other.type == "else_clause" else other)
        else:
            leaves = taken is not None and _last(source, taken) in {*source.grammar.returns, *source.grammar.raises}
            same = leaves and at + 1 < len(every) and body == [source.said(every[at + 1])]
        if same:
            yield _head(source, one)


def _said(source: Source, block: Node | None) -> list[str]:
    if block is None:
        return []
    inner = statements(block, source.grammar)
    return [source.said(one) for one in inner] or [source.said(block)]


def _last(source: Source, block: Node) -> str:
    inner = statements(block, source.grammar)
    return inner[-1].type if inner else block.type


def _leaves(source: Source, body: Node) -> bool:
    ends = {*source.grammar.returns, *source.grammar.raises, "break_statement"}
    return _last(source, body) in ends and not any(node.type == "continue_statement" for node in walk(body))


def _head(source: Source, node: Node) -> str:
    body = node.child_by_field_name("consequence") or node.child_by_field_name("body")
    end = body.start_byte if body is not None else node.end_byte
    return " ".join(source.data[node.start_byte : end].decode("utf-8", "replace").split())
