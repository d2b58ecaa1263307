"""Loosens a failing assertion: it then requires some value of a kind, not a certain one."""

from collections.abc import Iterator

from tree_sitter import Node

from selfplay.syntax import Source
from selfplay.syntax.grammar import walk
from selfplay.syntax.source import statements

Replacement = tuple[int, int, str]
"""The bytes `start`..`end` become the text."""
JAVASCRIPT_ROOTS = frozenset(["expect", "assert", "chai", "t"])
EQUALS = frozenset(
    ["toBe", "toEqual", "toStrictEqual", "toMatchObject", "equal", "equals", "eq", "eql", "eqls", "deepEqual",
     "strictEqual", "deepStrictEqual", "same", "is"]
)  # fmt: skip
AVA = frozenset(["is", "deepEqual"])
"""Of a test's `t`, those that are ava's, which has `t.truthy` for `t.ok`."""
NOTHING = frozenset(["undefined", "null"])
FEWER_ARGUMENTS = frozenset(["toThrow", "toThrowError", "throw", "throws", "rejects"])
GO_FAILS = frozenset(["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"])
GO_LOGS = {"Error": "Log", "Errorf": "Logf", "Fatal": "Log", "Fatalf": "Logf"}
GO_PACKAGES = frozenset(["assert", "require"])
_STRINGS = frozenset(["string", "template_string", "interpreted_string_literal", "raw_string_literal"])


def assertions(source: Source, body: Node) -> list[Node]:
    """The statements of a test that assert, in source order; not those inside another one."""
    is_one = _is_go if source.grammar.name == "go" else _is_javascript
    every = (one for node in walk(body) if _holds_statements(node, source) for one in statements(node, source.grammar))
    found: list[Node] = []
    for one in sorted((one for one in every if is_one(source, one)), key=lambda node: node.start_byte):
        if not found or one.start_byte >= found[-1].end_byte:
            found.append(one)
    return found


def loosened(source: Source, statement: Node) -> list[Replacement]:
    """Weaker forms of an assertion, the better ones first; empty if none is known."""
    found = _go(source, statement) if source.grammar.name == "go" else _javascript(source, statement)
    return list(found)


def _holds_statements(node: Node, source: Source) -> bool:
    return node.type in source.grammar.blocks


def _is_javascript(source: Source, statement: Node) -> bool:
    if statement.type != "expression_statement" or not statement.named_children:
        return False
    words, node = list[str](), statement.named_children[0]
    while node.type in ("call_expression", "member_expression", "await_expression"):
        if (name := node.child_by_field_name("property")) is not None:
            words.append(source.said(name))
        below = node.child_by_field_name("function") or node.child_by_field_name("object")
        node = below if below is not None else node.named_children[0]
    called = statement.named_children[0].type in ("call_expression", "await_expression")
    root = source.said(node) if node.type == "identifier" else ""
    chained = root == "t" and bool(EQUALS & set(words))
    return called and ((root in JAVASCRIPT_ROOTS and root != "t") or chained or "should" in words)


def _is_go(source: Source, statement: Node) -> bool:
    """An `if` that ends in a failure of the test, or a call of testify's."""
    if statement.type == "if_statement":
        taken = statement.child_by_field_name("consequence")
        inside = statements(taken, source.grammar) if taken is not None else []
        return statement.child_by_field_name("alternative") is None and any(_fails(source, one) for one in inside)
    owner, _ = _go_call(source, statement)
    return owner in GO_PACKAGES or _fails(source, statement)


def _fails(source: Source, statement: Node) -> bool:
    owner, name = _go_call(source, statement)
    return name in GO_FAILS and owner not in GO_PACKAGES and owner.isidentifier()


def _go_call(source: Source, statement: Node) -> tuple[str, str]:
    call = statement.named_children[0] if statement.type == "expression_statement" else None
    called = call.child_by_field_name("function") if call is not None and call.type == "call_expression" else None
    if called is None or called.type != "selector_expression":
        return "", ""
    owner, name = called.child_by_field_name("operand"), called.child_by_field_name("field")
    return (source.said(owner), source.said(name)) if owner is not None and name is not None else ("", "")


def _javascript(source: Source, statement: Node) -> Iterator[Replacement]:
    call = statement.named_children[0]
    if call.type != "call_expression":
        return
    called, given = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    name = called.child_by_field_name("property") if called is not None else None
    owner = called.child_by_field_name("object") if called is not None else None
    if called is None or given is None or name is None or owner is None:
        return
    method, arguments = source.said(name), [n for n in given.named_children if n.type != "comment"]
    chain = source.said(owner)
    if method in FEWER_ARGUMENTS and len(arguments) > (0 if chain.startswith("expect") else 1):
        kept = "" if chain.startswith("expect") else source.said(arguments[0])
        yield given.start_byte, given.end_byte, f"({kept})"
    if method not in EQUALS or not arguments or ".not." in f"{chain}.":
        return
    if any(n.type in NOTHING for n in arguments[:2]):
        return  # any other weaker claim would be a different one
    if chain.startswith("expect("):
        yield from _expected(source, call, owner, arguments[0], method)
    elif len(arguments) > 1 and chain in ("assert", "chai.assert", "t", "should"):
        value, wanted = _sides(arguments[0], arguments[1])
        yield call.start_byte, call.end_byte, _asserted(chain, source.said(value), wanted, method)


def _expected(source: Source, call: Node, owner: Node, wanted: Node, method: str) -> Iterator[Replacement]:
    """`expect(VALUE).toBe(WANTED)` of jest, `expect(VALUE).to.equal(WANTED)` of chai."""
    first = owner
    while first.type == "member_expression" and (below := first.child_by_field_name("object")) is not None:
        first = below
    given = first.child_by_field_name("arguments")
    if given is None or not given.named_children:
        return
    value, kind = source.said(given.named_children[0]), _kind(wanted)
    if method.startswith("to"):
        typed = {"array": f"expect(Array.isArray({value})).toBe(true)", "": f"expect({value}).toBeDefined()"}
        text = typed.get(kind, f"expect(typeof {value}).toBe('{kind}')")
    else:
        text = f"expect({value}).to.be.a('{kind}')" if kind else f"expect({value}).to.not.equal(undefined)"
    yield call.start_byte, call.end_byte, text


def _asserted(owner: str, value: str, wanted: Node, method: str) -> str:
    kind, fine = _kind(wanted), "t.truthy" if owner == "t" and method in AVA else f"{owner}.ok"
    if kind == "array":
        return f"{fine}(Array.isArray({value}))"
    return f"{fine}(typeof {value} === '{kind}')" if kind else f"{fine}({value} !== undefined)"


def _kind(wanted: Node) -> str:
    """The kind of a literal, as `typeof` and chai name it; empty for anything else."""
    kinds = {"number": "number", "array": "array", "object": "object", "true": "boolean", "false": "boolean"}
    return "string" if wanted.type in _STRINGS else kinds.get(wanted.type, "")


def _sides(left: Node, right: Node) -> tuple[Node, Node]:
    """The tested value and the expected one: the side that is not a literal is tested."""
    return (right, left) if _kind(left) and not _kind(right) else (left, right)


def _go(source: Source, statement: Node) -> Iterator[Replacement]:
    owner, name = _go_call(source, statement)
    if owner in GO_PACKAGES:
        called = statement.named_children[0].child_by_field_name("function")
        given = statement.named_children[0].child_by_field_name("arguments")
        if name in ("Equal", "Equalf", "EqualValues") and called is not None and given is not None:
            field = called.child_by_field_name("field")
            if field is not None and given.named_child_count > 2:
                yield field.start_byte, field.end_byte, "IsType"
        return
    condition = statement.child_by_field_name("condition")
    if condition is not None:
        yield from _go_condition(source, condition)
    for node in walk(statement):
        if node.type == "expression_statement" and _fails(source, node) and _go_call(source, node)[1] in GO_LOGS:
            field = node.named_children[0].child_by_field_name("function").child_by_field_name("field")  # type: ignore[union-attr]
            if field is not None:
                yield field.start_byte, field.end_byte, GO_LOGS[source.said(field)]


def _go_condition(source: Source, condition: Node) -> Iterator[Replacement]:
    """`!reflect.DeepEqual(a, b)` asks for the type alone; `a != LITERAL` for any other value than none."""
    said = source.said(condition)
    if said.startswith("!reflect.DeepEqual("):
        call = condition.named_children[0]
        given = call.child_by_field_name("arguments")
        if given is not None and given.named_child_count == 2:
            one, other = (f"reflect.TypeOf({source.said(n)})" for n in given.named_children)
            yield condition.start_byte, condition.end_byte, f"{one} != {other}"
    sign, left, right = (condition.child_by_field_name(part) for part in ("operator", "left", "right"))
    if sign is None or left is None or right is None or sign.type != "!=":
        return
    if right.type == "interpreted_string_literal" and source.said(right) != '""':
        yield condition.start_byte, condition.end_byte, f'{source.said(left)} == ""'
    elif right.type == "int_literal" and source.said(right) != "0":
        yield condition.start_byte, condition.end_byte, f"{source.said(left)} == 0"
