"""Marks the places of a file that are new in a prediction: each notes that it ran, each new condition what it gave.

What is new: `new_lines.py`. A condition has two places, since code may also be chosen without a line of its own:
`return x if usual else y`.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from selfplay.oracle.rewriting.new_lines import KnownLines, written
from selfplay.oracle.rewriting.python_trees import is_text, loaded, source_of, unparsed
from selfplay.oracle.rewriting.tried import told_of_its_end

MOST_SHOWN = 80
"""Characters of a place that are shown."""
_UNSEEN = "in any test or on any hidden input"
WHAT = {
    "": f"never ran {_UNSEEN}", "+": f"was never true {_UNSEEN}", "-": f"was never false {_UNSEEN}",
    "?": "holds a choice that cannot be marked", "=": f"caught none of this very kind {_UNSEEN}",
    "/": f"begins a `try` that never came to its end {_UNSEEN}",
}  # fmt: skip
_Condition = ast.Compare | ast.UnaryOp
_SILENT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Pass)
_CHOOSING = (ast.IfExp, ast.BoolOp, ast.Compare, ast.comprehension, ast.Lambda)


class Noters(NamedTuple):
    """The names of the functions that marks call (`inside/selfplay_covered.py`)."""

    ran: str
    gave: str
    caught: str


@dataclass(frozen=True)
class Marked:
    """`text`: a file with marks. `places`: word that a mark notes -> the place, in words."""

    text: str
    places: dict[str, str]


def with_marks(path: str, text: str, known: KnownLines, noters: Noters, first: int = 0) -> Marked | None:
    """A file with marks at all places that are not `known`; None if it cannot be parsed. `first`: the number of its
    first place. Raises `RecursionError` for a file that is nested too deeply, or cannot be written."""
    found = written(text, known)
    if found is None:
        return None
    tree, lines, fresh = found
    marks = _Marks(path, lines, fresh, noters, first)
    marked = marks.visit(tree)
    return Marked(unparsed(marked), marks.places)


@dataclass
class _Marks(ast.NodeTransformer):
    """Puts marks at the places of these lines, and collects them."""

    path: str
    lines: Sequence[str]
    fresh: set[int]
    noters: Noters
    number: int
    places: dict[str, str] = field(default_factory=dict)
    covered: set[int] = field(default_factory=set)
    """`id` of the conditions whose truth is noted by what is around them."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, [made for one in value for made in self._statement(one)])
            elif isinstance(value, list):
                setattr(node, name, [self.visit(one) if isinstance(one, ast.AST) else one for one in value])
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        return node

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        fresh = node.lineno in self.fresh and not (is_text(node) or future or isinstance(node, _SILENT))
        before = [self._ran(self._line(node))] if fresh else []
        made = self.visit(node)
        return [*before, made]

    def visit_If(self, node: ast.If | ast.While) -> ast.AST:
        constant = isinstance(node.test, ast.Constant)
        fresh = node.lineno in self.fresh and not constant
        self._cover(node.test)
        plus, minus = ([self._ran(_source(node.test), sign)] if fresh else [] for sign in "+-")
        self.generic_visit(node)
        node.body, node.orelse = [*plus, *node.body], [*minus, *node.orelse]
        return node

    visit_While = visit_If

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """One that only lets the exception through does nothing. What is broader than all that was caught was not
        judged."""
        if len(node.body) == 1 and isinstance(node.body[0], ast.Raise) and node.body[0].exc is None:
            return node
        mark = [self._handled(node)] if node.lineno in self.fresh else []
        self.generic_visit(node)
        node.body = [*mark, *node.body]
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """What is tried is a condition, too: where it always fails, the program is what handles the error."""
        lines = {node.lineno, *(one.lineno for one in node.body), *(one.lineno for one in node.handlers)}
        fresh = bool(node.handlers and lines & self.fresh)
        first = self._line(node.body[0])
        self.generic_visit(node)
        if fresh:
            word = self._place(first, "/") + "/"
            done = ast.Call(loaded(self.noters.ran), [ast.Constant(word)], [])
            node.body = told_of_its_end(node.body, done)
            node.orelse = [ast.Expr(done), *node.orelse]
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """A pattern holds no expression that could be replaced."""
        mark = [self._ran(self._line(node.pattern))] if node.pattern.lineno in self.fresh else []
        if node.guard is not None:
            node.guard = self._gave(node.guard) if node.guard.lineno in self.fresh else self.visit(node.guard)
        node.body = [*mark, *(made for one in node.body for made in self._statement(one))]
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """An assertion that never fails is the usual case."""
        self._cover(node.test)
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        fresh, test = node.lineno in self.fresh, _source(node.test)
        self._cover(node.test)
        self.generic_visit(node)
        if fresh:
            node.body, node.orelse = self._after(node.body, test, "+"), self._after(node.orelse, test, "-")
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        *first, last = node.values
        fresh = node.lineno in self.fresh
        node.values = [*(self._gave(one) if fresh else self.visit(one) for one in first), self.visit(last)]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = self.visit(node.iter)
        node.ifs = [self._gave(one) if one.lineno in self.fresh else self.visit(one) for one in node.ifs]
        return node

    def visit_ListComp(self, node: ast.expr) -> ast.AST:
        name = "value" if isinstance(node, ast.DictComp) else "elt"
        item = getattr(node, name)
        fresh, source = item.lineno in self.fresh, _source(item)
        self.generic_visit(node)
        if fresh:
            setattr(node, name, self._after(getattr(node, name), source))
        return node

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        fresh, source = node.lineno in self.fresh, _source(node)
        self.generic_visit(node)
        node.body = self._after(node.body, source) if fresh else node.body
        return node

    def visit_Compare(self, node: _Condition) -> ast.AST:
        if id(node) in self.covered or node.lineno not in self.fresh:
            return self.generic_visit(node)
        return self._gave(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return self.visit_Compare(node) if isinstance(node.op, ast.Not) else self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Python before 3.12 cannot write every mark in an f-string: a choice in a new one is not looked at."""
        if node.lineno in self.fresh and any(isinstance(one, _CHOOSING) for one in ast.walk(node)):
            self._place(_source(node), "?")
        return node

    def _cover(self, node: ast.expr) -> None:
        self.covered.add(id(node))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._cover(node.operand)

    def _gave(self, node: ast.expr) -> ast.expr:
        """A condition that notes what it gives."""
        self._cover(node)
        word = self._place(_source(node), "+", "-")
        return ast.Call(loaded(self.noters.gave), [ast.Constant(word), self.visit(node)], [])

    def _after(self, value: ast.expr, source: str, sign: str = "") -> ast.expr:
        """A value that notes first that it is asked for."""
        return ast.BoolOp(ast.Or(), [self._call(source, sign), value])

    def _ran(self, source: str, sign: str = "") -> ast.stmt:
        return ast.Expr(self._call(source, sign))

    def _handled(self, node: ast.ExceptHandler) -> ast.stmt:
        if node.type is None:
            return self._ran(self._line(node))
        word = ast.Constant(self._place(self._line(node), "="))
        return ast.Expr(ast.Call(loaded(self.noters.caught), [word, node.type], []))

    def _call(self, source: str, sign: str) -> ast.expr:
        return ast.Call(loaded(self.noters.ran), [ast.Constant(self._place(source, sign) + sign)], [])

    def _line(self, node: ast.stmt | ast.ExceptHandler | ast.pattern) -> str:
        return self.lines[node.lineno - 1].strip()

    def _place(self, source: str, *signs: str) -> str:
        """A new place; returns its word, without the sign."""
        word = str(self.number)
        self.number += 1
        for sign in signs:
            self.places[word + sign] = f"{self.path}: `{source[:MOST_SHOWN]}` {WHAT[sign]}"
        return word


def _source(node: ast.expr) -> str:
    return " ".join(source_of(node).split())
