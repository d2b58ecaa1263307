"""Wrong programs of one file as one program (a mutant schema): each mutant is one small change, chosen by a number.

The number stands in a built-in, which the place of a mutant asks for when it runs: so the program is loaded once for
all of them. What the mutants are: `mutants.py` of an original, `parts.py` of a prediction.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import NamedTuple

from selfplay.oracle.rewriting.python_trees import Function, unparsed

MOST_SHOWN = 60
"""Characters of a mutant's place that are shown."""


class SchemaNames(NamedTuple):
    """Built-ins that the caller program defines: the number of the chosen mutant, and what cuts a loop short. `kept`: a
    function of a file with parts, which keeps to a value."""

    chosen: str = "selfplay_mutant"
    first: str = "selfplay_first"
    kept: str = "selfplay_kept"


PLAIN = SchemaNames()
"""Where only the original runs. A prediction's are drawn for each grading."""


@dataclass(frozen=True)
class Mutant:
    """`node` is replaced by `by`, which shares nodes with it, or left out. `line`: the first of its statement, where a
    mutant's caller asks for it."""

    node: ast.AST
    by: ast.expr | ast.stmt | None
    kind: str
    line: int = 0

    def words(self) -> str:
        """What is changed, for people."""
        if self.kind == "loop":
            return f"only the first items of {_shown(self.node)}"
        if self.kind == "value":
            return f"the first value of {_shown(self.node)} in its place"
        return f"{_shown(self.by)} for {_shown(self.node)}" if self.by is not None else f"without {_shown(self.node)}"


def planted(tree: ast.Module, mutants: Sequence[Mutant], first: int, names: SchemaNames) -> str:
    """The text of a tree with these mutants, numbered from `first` on. Raises `Unwritable`, and `RecursionError`."""
    by_node = defaultdict[int, list[tuple[int, ast.expr | ast.stmt | None]]](list)
    for number, one in enumerate(mutants, first):
        by_node[id(one.node)].append((number, deepcopy(one.by)))
    _Planter(by_node, names.chosen).visit(tree)
    return unparsed(tree)


def without_effect(statement: ast.stmt, body: Sequence[ast.stmt], function: Function) -> bool:
    """Whether nothing changes where a statement is left out: the end of a function or of a loop, a type alone."""
    match statement:
        case ast.AnnAssign(value=None) | ast.Delete(targets=[ast.Name()]):
            return True
        case ast.Return(value=None | ast.Constant(value=None)):
            return statement is function.body[-1]
        case ast.Continue():
            return statement is body[-1]
    return False


def own_expressions(statement: ast.stmt, formatted: bool = False) -> Iterator[tuple[ast.expr, bool]]:
    """Each expression of a statement, not of those in it, with whether it decides something; without what is no value
    (whole targets, annotations), what an assertion says, and f-strings, whose inside Python 3.11 cannot always write.
    `formatted`: with f-strings, as wholes."""
    left: list[tuple[ast.AST, bool]] = [(statement, False)]
    while left:
        node, is_test = left.pop()
        if isinstance(node, ast.JoinedStr) and formatted:
            yield node, is_test
        if isinstance(node, ast.JoinedStr | Function | ast.ClassDef | ast.pattern):
            continue
        if isinstance(node, ast.expr) and not _stored(node) and not _of_slices(node):
            yield node, is_test
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "msg") or isinstance(value, ast.arguments):
                continue
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, ast.AST) and not isinstance(one, ast.stmt):
                    left.append((one, name in ("test", "ifs", "guard")))


def _of_slices(node: ast.expr) -> bool:
    """Whether it is several indices with a slice among them (`x[:, 0]`), which are no value."""
    return isinstance(node, ast.Tuple) and any(isinstance(one, ast.Slice) for one in node.elts)


def _stored(node: ast.AST) -> bool:
    return not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


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


class _Planter(ast.NodeTransformer):
    """Puts the mutants into a tree. `mutants`: by the `id` of their node, with their numbers."""

    def __init__(self, mutants: dict[int, list[tuple[int, ast.expr | ast.stmt | None]]], chosen: str) -> None:
        self._mutants, self._chosen = mutants, chosen

    def visit(self, node: ast.AST) -> ast.AST:
        mutants = self._mutants.get(id(node), ())
        made = self.generic_visit(node)
        for number, by in mutants:
            chosen = ast.Compare(ast.Name(self._chosen, ast.Load()), [ast.Eq()], [ast.Constant(number)])
            if by is None:
                made = ast.If(ast.UnaryOp(ast.Not(), chosen), [made], [])  # type: ignore[list-item]
            elif isinstance(by, ast.stmt):
                made = ast.If(chosen, [by], [made])  # type: ignore[list-item]
            else:
                made = ast.IfExp(chosen, by, made)  # type: ignore[arg-type]
        return made
