"""The tests of a file as its tree shows them: calls of `it` and `test` in JavaScript, functions `TestX` in Go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from selfplay.syntax import Source
from selfplay.syntax.grammar import walk
from selfplay.syntax.source import first_line, last_line

TESTS = frozenset(["it", "test", "specify"])
SUITES = frozenset(["describe", "context", "suite"])
Title = tuple[str, ...]
"""The fixed parts of a title; between two of them stands what is computed."""
_ANY = ("", "")
MOST_TITLE = 2000
"""Characters of a title with those around it; a longer one may be any."""


@dataclass(frozen=True)
class Case:
    """One test. `title`: with those around it; `own`: its own alone; `node`: the whole statement; `body`: the block of
    its statements."""

    title: Title
    own: Title
    node: Node
    body: Node

    def is_called(self, name: str) -> bool:
        """Whether a test of this name, as it is reported, may be this one."""
        return _fits(self.title, name)

    def holds(self, line: int) -> bool:
        return first_line(self.node) <= line <= last_line(self.node)


def cases(source: Source) -> list[Case]:
    """All tests of a file that have a block, outer ones first."""
    return list(_go(source) if source.grammar.name == "go" else _javascript(source))


def case_of(found: Sequence[Case], name: str, lines: frozenset[int]) -> Case | None:
    """The test of this name; of several, the one that a failing line is in, and the innermost of those. A function that
    makes suites adds titles to those around a test in the text: then its own title and a failing line tell."""
    named = [case for case in found if case.is_called(name)]
    inside = [case for case in named if any(case.holds(line) for line in lines)]
    plain = [case for case in named if len(case.title) == 1]
    ending = [case for case in found if _fits(("", *case.own), name) and any(case.holds(line) for line in lines)]
    if inside or (ending and not named):
        return (inside or ending)[-1]
    return plain[-1] if len(plain) == 1 else named[0] if len(named) == 1 else None


def _javascript(source: Source) -> Iterator[Case]:
    waiting: list[tuple[Title, Node]] = [(("",), source.root)]
    while waiting:
        around, node = waiting.pop()
        inner = around
        if node.type == "call_expression":
            kind, title, block = _call(source, node)
            if kind and block is not None:
                inner = _joined(around, title)
                statement = _statement_of(source, node)
                if kind == "test" and statement is not None:
                    yield Case(inner, title, statement, block)
        waiting.extend((inner, child) for child in reversed(node.named_children))


def _call(source: Source, node: Node) -> tuple[str, Title, Node | None]:
    """("test" or "suite", its title, its block), or ("", ...) for any other call."""
    called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    table = called is not None and called.type == "call_expression"  # it.each(TABLE)(TITLE, FUNCTION)
    if called is not None and table:
        called = called.child_by_field_name("function")
    if called is None or given is None or given.type != "arguments" or not given.named_children:
        return "", (), None
    words = source.said(called).split(".")
    kind = "suite" if SUITES & {words[0], words[-1]} else "test" if TESTS & {words[0], words[-1]} else ""
    function = next((n for n in given.named_children[1:] if n.type in source.grammar.functions), None)
    if not kind or function is None or len(words) > 3:
        return "", (), None
    block = function.child_by_field_name("body")
    title = _ANY if table else _title(source, given.named_children[0])
    return kind, title, block if block is not None and block.type == "statement_block" else None


def _title(source: Source, node: Node) -> Title:
    if node.type == "string":
        return (_unescaped("".join(source.said(n) for n in node.named_children)),)
    if node.type == "template_string":
        parts: list[list[str]] = [[]]
        for piece in node.named_children:
            if piece.type == "template_substitution":
                parts.append([])
            else:
                parts[-1].append(source.said(piece))
        return tuple("".join(part) for part in parts)
    if node.type == "binary_expression":
        sides = [node.child_by_field_name(name) for name in ("left", "right")]
        left, right = (_title(source, side) if side is not None else _ANY for side in sides)
        return (*left[:-1], left[-1] + right[0], *right[1:])
    return _ANY


def _unescaped(text: str) -> str:
    return text.replace("\\'", "'").replace('\\"', '"').replace("\\\\", "\\")


def _joined(around: Title, title: Title) -> Title:
    if sum(len(part) + 1 for part in (*around, *title)) > MOST_TITLE:
        return _ANY  # every test inside would repeat it
    between = " " if around != ("",) else ""
    return (*around[:-1], around[-1] + between + title[0], *title[1:])


def _fits(title: Title, name: str) -> bool:
    first, *rest = title
    if not rest:
        return name == first
    if not name.startswith(first):
        return False
    at = len(first)
    for part in rest[:-1]:
        found = name.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(name) - len(rest[-1]) >= at and name.endswith(rest[-1])


def _statement_of(source: Source, node: Node) -> Node | None:
    holder = source.parent(node)
    if holder is not None and holder.type == "await_expression":
        holder = source.parent(holder)
    return holder if holder is not None and holder.type == "expression_statement" else None


def _go(source: Source) -> Iterator[Case]:
    for top in source.root.named_children:
        name, body = top.child_by_field_name("name"), top.child_by_field_name("body")
        if top.type != "function_declaration" or name is None or body is None:
            continue
        said = source.said(name)
        if said.startswith(("Test", "Example")) and len(said) <= MOST_TITLE:
            yield Case((said,), (said,), top, body)
            yield from _subtests(source, (said,), body)


def _subtests(source: Source, around: Title, body: Node) -> Iterator[Case]:
    """`t.Run(TITLE, func(t *testing.T) {...})`."""
    for node in walk(body):
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if node.type != "call_expression" or called is None or given is None or given.named_child_count != 2:
            continue
        title, function = given.named_children
        block = function.child_by_field_name("body")
        statement = _statement_of(source, node)
        if source.said(called).endswith(".Run") and function.type == "func_literal" and block is not None and statement:
            text = title.type in ("interpreted_string_literal", "raw_string_literal")
            own = (subtest_name(source.said(title)[1:-1]),) if text else _ANY
            yield Case((*around[:-1], f"{around[-1]}/{own[0]}", *own[1:]), own, statement, block)


def subtest_name(title: str) -> str:
    """How Go reports a subtest's title: without spaces."""
    return "".join("_" if letter.isspace() else letter for letter in title)
