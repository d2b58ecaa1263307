"""Mutants of the original: each is a small change of one line that the bug changed, as a wrong repair has it.

A condition that does not matter, an option that is not passed on, a boundary moved by one, a statement left out, a loop
that ends early. All are in one file (a mutant schema): each is chosen by the number in the built-in `MUTANT` when its
place runs, so that the program is loaded once for all of them.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from copy import copy, deepcopy
from dataclasses import dataclass
from itertools import chain, islice, zip_longest

from selfplay.oracle.rewriting.python_trees import Function, bodies, is_text, own_lines, parsed, unparsed

MUTANT, FIRST = "selfplay_mutant", "selfplay_first"
"""Built-ins that the caller program defines: the number of the chosen mutant, and what cuts a loop short."""
MOST_SHOWN = 60
_MOVED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_ENDS = {"lstrip": "rstrip", "find": "rfind", "index": "rindex", "split": "rsplit", "partition": "rpartition"}
_ENDS |= {other: one for one, other in _ENDS.items()}
_SILENT = (Function, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass)
_TOLD = frozenset(["warn", "warning", "debug", "info", "error", "exception", "log", "print"])
"""Functions that tell people something, which no outcome shows."""


@dataclass(frozen=True)
class Mutant:
    """`node` is replaced by `by`, which shares nodes with it, or left out."""

    node: ast.AST
    by: ast.expr | None
    kind: str

    def words(self) -> str:
        """What is changed, for people."""
        if self.kind == "loop":
            return f"only the first items of {_shown(self.node)}"
        return f"{_shown(self.by)} for {_shown(self.node)}" if self.by is not None else f"without {_shown(self.node)}"


def with_mutants(text: str, lines: Set[int], most: int, seed: int, first: int = 1) -> tuple[str, list[str]]:
    """The file with at most `most` mutants of these lines in its functions, numbered from `first` on in the order of
    the words. No mutant if it cannot be parsed, or be written."""
    tree = parsed(text)
    if tree is None:
        return text, []
    try:
        found = [*islice(_by_turns([*_mutants(tree, lines)], seed), most)]
        by_node = defaultdict[int, list[tuple[int, ast.expr | None]]](list)
        for number, one in enumerate(found, first):
            by_node[id(one.node)].append((number, deepcopy(one.by)))
        words = [one.words() for one in found]
        _Planter(by_node).visit(tree)
        return (unparsed(tree), words) if words else (text, [])
    except RecursionError:
        return text, []


def _by_turns(every: Sequence[Mutant], seed: int) -> Iterator[Mutant]:
    """In random order, one of each kind in turn."""
    kinds = defaultdict[str, list[Mutant]](list)
    for one in random.Random(seed).sample(every, len(every)):
        kinds[one.kind].append(one)
    return (one for one in chain.from_iterable(zip_longest(*kinds.values())) if one is not None)


def _mutants(tree: ast.Module, lines: Set[int]) -> Iterator[Mutant]:
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        for body in bodies(function):
            for statement in body:
                own = own_lines(statement) & lines
                if own and not isinstance(statement, _SILENT) and not is_text(statement) and not _tells(statement):
                    if not _without_effect(statement, body, function):
                        yield Mutant(statement, None, "statement")
                    yield from _within(statement, own)


def _within(statement: ast.stmt, lines: Set[int]) -> Iterator[Mutant]:
    """Those of the expressions in these lines."""
    if isinstance(statement, ast.Raise):  # what an error says, no outcome shows
        return
    if isinstance(statement, ast.For) and statement.iter.lineno in lines:
        yield _cut(statement.iter)
    for node, is_test in _own_expressions(statement):
        if node.lineno in lines:
            yield from _of(node, is_test)


def _tells(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    name = call.func if isinstance(call, ast.Call) else None
    return getattr(name, "attr", getattr(name, "id", "")) in _TOLD


def _without_effect(statement: ast.stmt, body: Sequence[ast.stmt], function: Function) -> bool:
    """Whether nothing changes where a statement is left out: the end of a function or of a loop, a type alone."""
    match statement:
        case ast.AnnAssign(value=None) | ast.Delete(targets=[ast.Name()]):
            return True
        case ast.Return(value=None | ast.Constant(value=None)):
            return statement is function.body[-1]
        case ast.Continue():
            return statement is body[-1]
    return False


def _shown(node: ast.AST) -> str:
    """The first line of a node's source, without the statements in it."""
    if isinstance(node, ast.stmt) and getattr(node, "body", None):
        node = copy(node)
        parts = {"body": [ast.Pass()], "orelse": [], "finalbody": [], "handlers": []}
        vars(node).update({name: part for name, part in parts.items() if hasattr(node, name)})
    try:
        line = ast.unparse(node).split("\n")[0]
    except (ValueError, RecursionError):
        line = type(node).__name__
    return f"`{line[:MOST_SHOWN]}`"


def _own_expressions(statement: ast.stmt) -> Iterator[tuple[ast.expr, bool]]:
    """Each expression of a statement, not of those in it, with whether it decides something; without what is no value
    (targets, annotations), what an assertion says, and f-strings, whose inside Python 3.11 cannot always write."""
    left: list[tuple[ast.AST, bool]] = [(statement, False)]
    while left:
        node, is_test = left.pop()
        if isinstance(node, ast.JoinedStr | Function | ast.ClassDef | ast.pattern) or _stored(node):
            continue
        if isinstance(node, ast.expr):
            yield node, is_test
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "msg") or isinstance(value, ast.arguments):
                continue
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, ast.AST) and not isinstance(one, ast.stmt):
                    left.append((one, name in ("test", "ifs", "guard")))


def _stored(node: ast.AST) -> bool:
    return not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _of(node: ast.expr, is_test: bool) -> Iterator[Mutant]:
    if is_test and not isinstance(node, ast.Constant):
        for value in (True, False):
            yield Mutant(node, ast.Constant(value), "condition")
    match node:
        case ast.Compare(ops=[op]) if type(op) in _MOVED:
            yield Mutant(node, ast.Compare(node.left, [_MOVED[type(op)]()], node.comparators), "boundary")
        case ast.BoolOp(values=values):
            for one in values:
                rest = [other for other in values if other is not one]
                by = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
                yield Mutant(node, by, "operand")
        case ast.BinOp(left=left, right=right):
            for one in (left, right):
                yield Mutant(node, one, "operand")
        case ast.Constant(value=known) if isinstance(known, bool | int | float | str) and known != "":
            yield Mutant(node, ast.Constant(_other(known)), "constant")
        case ast.Subscript(slice=ast.Slice() as part):
            yield from _slices(node, part)
        case ast.Call():
            yield from _calls(node)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            yield from (_cut(one.iter) for one in node.generators if not one.is_async)


def _other(value: bool | float | str) -> bool | float | str:
    if isinstance(value, str):
        return ""
    return not value if isinstance(value, bool) else value + 1


def _slices(node: ast.Subscript, part: ast.Slice) -> Iterator[Mutant]:
    for name in ("lower", "upper", "step"):
        known = getattr(part, name)
        if known is not None and getattr(known, "value", None) != 0:
            rest = copy(part)
            setattr(rest, name, None)
            yield Mutant(node, ast.Subscript(node.value, rest, ast.Load()), "slice")


def _calls(node: ast.Call) -> Iterator[Mutant]:
    for word in node.keywords:
        rest = [other for other in node.keywords if other is not word]
        yield Mutant(node, ast.Call(node.func, node.args, rest), "argument")
    match node:
        case ast.Call(func=ast.Name(id="cast") | ast.Attribute(attr="cast")):
            pass
        case ast.Call(args=[*first, ast.expr() as last]) if first and getattr(last, "value", last) is not None:
            yield Mutant(node, ast.Call(node.func, first, node.keywords), "argument")
        case ast.Call(func=ast.Name(), args=[ast.expr() as only], keywords=[]) if not isinstance(only, ast.Starred):
            yield Mutant(node, only, "call")
        case ast.Call(func=ast.Attribute(value=value), args=[], keywords=[]):
            yield Mutant(node, value, "call")
    if isinstance(node.func, ast.Attribute) and node.func.attr in _ENDS and _has_ends(node):
        other = ast.Attribute(node.func.value, _ENDS[node.func.attr], ast.Load())
        yield Mutant(node, ast.Call(other, node.args, node.keywords), "end")


def _has_ends(node: ast.Call) -> bool:
    """Without a number `split` and `rsplit` are one."""
    return getattr(node.func, "attr", "") not in ("split", "rsplit") or len(node.args) > 1 or bool(node.keywords)


def _cut(node: ast.expr) -> Mutant:
    """Only the first items of a loop."""
    return Mutant(node, ast.Call(ast.Name(FIRST, ast.Load()), [node], []), "loop")


class _Planter(ast.NodeTransformer):
    """Puts the mutants into a tree. `mutants`: by the `id` of their node, with their numbers."""

    def __init__(self, mutants: dict[int, list[tuple[int, ast.expr | None]]]) -> None:
        self._mutants = mutants

    def visit(self, node: ast.AST) -> ast.AST:
        mutants = self._mutants.get(id(node), ())
        made = self.generic_visit(node)
        for number, by in mutants:
            chosen = ast.Compare(ast.Name(MUTANT, ast.Load()), [ast.Eq()], [ast.Constant(number)])
            left_out = ast.If(ast.UnaryOp(ast.Not(), chosen), [made], [])  # type: ignore[list-item]
            made = left_out if by is None else ast.IfExp(chosen, by, made)  # type: ignore[arg-type]
        return made
