"""The parts of a prediction's new code: each is left out, or replaced by what it is made of, as one mutant.

A part that changes no answer when it is taken away was judged by nobody, though its line ran: the limit in `min(n,
limit)`, a second operand, an entry of a table, a statement that remembers something. That makes a part of a wrong
patch unlike one of a repair, however it is written: a repair needs its parts. So does a value that is the same at
every call: `len(self.items)` in the place of 0 is right for what is empty.

Parts that the original or the buggy program has in a function of this name are not new.
"""

import ast
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain, islice

from selfplay.oracle.rewriting.fixed_code import fixed_code
from selfplay.oracle.rewriting.left_out import bounds, truths
from selfplay.oracle.rewriting.mutant_schema import Mutant, SchemaNames, own_expressions, planted, without_effect
from selfplay.oracle.rewriting.new_lines import KnownLines, scopes, written
from selfplay.oracle.rewriting.program_numbers import known_numbers, numbers_of
from selfplay.oracle.rewriting.python_trees import (
    Function,
    begun_with,
    bodies,
    is_text,
    own_lines,
    parsed,
    source_of,
    unparsed,
)
from selfplay.oracle.rewriting.taken_apart import LONGER, called_at_once, swapped, taken_apart
from selfplay.oracle.rewriting.truths_and_constants import for_truth, is_constant, is_named_constant, is_truth

_COMPUTED = (ast.Call, ast.Attribute, ast.Subscript, ast.BinOp)
_SILENT = (Function, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Pass)
Sources = frozenset[tuple[str, str]]
"""(the function or class around it, source) of expressions; of a number anywhere (`NUMBER`, its digits)."""
_KEEPING = """
def {}(value, values=[], plain=(bool, int, float, complex, str, bytes, type(None)), other=object):
    if type(value) not in plain:
        return other()
    if not values:
        values.append(value)
    return values[0]
"""
"""The first plain value that it was given, whatever comes; nothing of use for any other."""
MOST_PARTS, MOST_NODES, LONGEST_KNOWN = 400, 100_000, 400
"""How many parts are taken away at most, and of how many nodes what stands in their place is; characters of an
expression that may be known: a longer one is not compared, since the text is anybody's and expressions are in each
other."""


@dataclass(frozen=True)
class Parted:
    """`text`: a file whose parts can be taken away. `words`: of each part, what it is then. `fixed`: the first that is
    new and cannot be taken away, in words. With `too_many` parts none of them is there."""

    text: str = ""
    words: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    too_many: bool = False


def with_parts(text: str, lines: KnownLines, known: Sources, names: SchemaNames, first: int) -> Parted | None:
    """A file with a mutant for each part that is in none of these `lines` and `known` expressions, numbered from
    `first` on; None if it cannot be parsed. Raises `RecursionError` for one nested too deeply, or that cannot be
    written."""
    anew = written(text, lines)
    if anew is None:
        return None
    tree, _, fresh = anew
    found, nodes = list[Mutant](), 0
    for one in _parts(tree, fresh, known, names.kept):
        found.append(one)
        nodes += sum(1 for _ in ast.walk(one.by)) if one.by else 0
        if len(found) > MOST_PARTS or nodes > MOST_NODES:
            return Parted(too_many=True)
    words, fixed = (
        tuple(one.words() for one in found),
        tuple(islice(fixed_code(tree, fresh, known_numbers(known), _attributes(known), _sources(known)), 1)),
    )
    made = begun_with(_KEEPING.format(names.kept), planted(tree, found, first, names))
    return Parted(made, words, fixed) if parsed(made) is not None else None


def without_part(text: str, name: str, number: int) -> str:
    """A file with parts, as a program that has taken away this one, whoever loads it. `name`: of `SchemaNames`."""
    return begun_with(f"{name} = {number}\n", text)


def expressions_of(text: str) -> Sources:
    """The expressions in the functions of a file, and its numbers; none if it is no Python. Raises `RecursionError`."""
    tree = parsed(text)
    tree = parsed(unparsed(tree)) if tree is not None else None
    return frozenset() if tree is None else frozenset(numbers_of(tree)) | frozenset(
        (name, source_of(node))
        for name, function in scopes(tree)
        for node in ast.walk(function)
        if isinstance(node, ast.expr) and _is_short(node)
    )  # fmt: skip


def _sources(known: Sources) -> frozenset[str]:
    return frozenset(source for _, source in known)


def _attributes(known: Sources) -> frozenset[str]:
    """The names of attributes among known expressions, of which those in others come by themselves."""
    return frozenset(source.rpartition(".")[2] for _, source in known)


def _is_short(node: ast.expr) -> bool:
    """Of a tree that Python wrote, where an expression is on one line."""
    return (node.end_col_offset or 0) - node.col_offset <= LONGEST_KNOWN


def _parts(tree: ast.Module, fresh: Set[int], known: Sources, keeping: str) -> Iterator[Mutant]:
    for name, function in scopes(tree):
        if not isinstance(function, Function):
            continue
        for body in bodies(function):
            for statement in body:
                own = own_lines(statement) & fresh
                if own and not isinstance(statement, _SILENT) and not is_text(statement):
                    if statement.lineno in fresh and not _stays(statement, body, function):
                        yield Mutant(statement, None, "statement")
                    if isinstance(statement, ast.Assign) and statement.lineno in fresh:
                        yield from _targets(statement)
                    yield from _bounds(statement, own, name, known)
                    yield from _within(statement, own, name, known)
                    yield from _values(statement, own, name, known, keeping)
                    if isinstance(statement, ast.With | ast.AsyncWith) and statement.lineno in fresh:
                        yield Mutant(statement, ast.If(ast.Constant(True), statement.body, []), "statement")


def _stays(statement: ast.stmt, body: Sequence[ast.stmt], function: Function) -> bool:
    """Whether nothing is to be learned without a statement. An error that is raised is a choice of the condition before
    it: where the program would fail a little later, it is no less needed."""
    return isinstance(statement, ast.Raise) or without_effect(statement, body, function)


def _targets(statement: ast.Assign) -> Iterator[Mutant]:
    """Without each of several targets (`a = b = 1`)."""
    for one in statement.targets if len(statement.targets) > 1 else ():
        rest = [other for other in statement.targets if other is not one]
        yield Mutant(statement, ast.Assign(rest, statement.value, lineno=statement.lineno), "target")


def _bounds(statement: ast.stmt, lines: Set[int], around: str, known: Sources) -> Iterator[Mutant]:
    """Without each bound of a slice that is assigned or deleted."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    for node in (node for one in targets if one is not None for node in ast.walk(one)):
        match node:
            case ast.Subscript(slice=ast.Slice() as part) if node.lineno in lines and not _is_known(
                node, around, known
            ):
                yield from (Mutant(one, ast.Constant(None), "part") for _, one in bounds(part))


def _is_known(node: ast.expr, around: str, known: Sources) -> bool:
    """Whether this expression is among the known ones of the function or class around it."""
    return _is_short(node) and (around, source_of(node)) in known


def _within(statement: ast.stmt, lines: Set[int], around: str, known: Sources) -> Iterator[Mutant]:
    """Those of the expressions in these lines; what an error says is no answer (`fixed_code.py` looks at it)."""
    if isinstance(statement, ast.Raise | ast.Assert):
        return
    whole = statement.value if isinstance(statement, ast.Expr) else None  # without its parts it does nothing
    for node, is_test in own_expressions(statement, formatted=True):
        if node is whole or node.lineno not in lines:
            continue
        if not _is_known(node, around, known):
            for by in chain(
                taken_apart(node), _undone(node, around, known), truths(node) if is_test or is_truth(node) else ()
            ):
                yield Mutant(node, by, "part")


def _undone(node: ast.expr, around: str, known: Sources) -> Iterator[ast.expr]:
    """What two parts together are applied to, since they may undo each other (`x.encode().decode()`, `x + 7 - 7`): each
    alone is needed then."""
    for inner in _operands(node):
        if isinstance(inner, ast.Call | ast.BinOp) and not _is_known(inner, around, known):
            yield from _operands(inner)
            yield from called_at_once(inner)


def _operands(node: ast.expr) -> list[ast.expr]:
    """What a call or an operator is applied to."""
    match node:
        case ast.Call(func=func, args=args):
            given = [one for one in args if not isinstance(one, ast.Starred)]
            return [*([func.value] if isinstance(func, ast.Attribute) else []), *given]
        case ast.BinOp(left=left, right=right):
            return [left, right]
    return []


def _values(statement: ast.stmt, lines: Set[int], around: str, known: Sources, keeping: str) -> Iterator[Mutant]:
    """The first value of each expression that is computed in its place; a dotted name that is called is none."""
    if isinstance(statement, ast.Raise | ast.Assert):
        return
    every = [(node, part) for node, _ in own_expressions(statement, formatted=True) for part in _inside(node)]
    no_value = {id(part.func) for _, part in every if isinstance(part, ast.Call)} | for_truth(statement)
    no_value |= {id(statement.value)} if isinstance(statement, ast.Expr) else set()
    for node, part in every:
        if id(part) in no_value or node.lineno not in lines or _is_known(part, around, known):
            continue
        if isinstance(part, _COMPUTED) and not is_constant(part):
            kept = ast.Call(ast.Name(keeping, ast.Load()), [part], [])
            yield Mutant(node, kept if part is node else swapped(node, part, kept), "value")
        elif isinstance(part, ast.Name | ast.Attribute) and part is node and is_named_constant(part):
            yield Mutant(node, ast.BinOp(part, ast.Mult(), ast.Constant(LONGER)), "part")


def _inside(node: ast.expr) -> Iterator[ast.expr]:
    """The node; of a text with values in it, those, each of which is replaced with the whole text."""
    if not isinstance(node, ast.JoinedStr):
        yield node
        return
    for one in ast.walk(node):
        if isinstance(one, ast.expr) and not isinstance(one, ast.JoinedStr | ast.FormattedValue):
            yield one
