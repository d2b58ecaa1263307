"""An assertion may also act: `assertEqual(stock.take("tea"), 3)` takes the tea out.

Without it a later statement of the test would see another state, and fail on the repaired program too. Such a cut is
not made. What a call acts on is what it is called on or given: a local name or an attribute of `self`, unless the name
only ever holds constants. State elsewhere (a module's, a file's) is not seen.
"""

import ast
from bisect import bisect
from collections import Counter
from collections.abc import Sequence

from selfplay.scripted.edits.cuts import Cut, last_line
from selfplay.scripted.edits.names import Function


def acts_on_the_rest(function: Function, cuts: Sequence[Cut]) -> bool:
    """Whether a call that goes with these cuts may act on what a later statement of the test still reads."""
    acted, stateful = set[str](), _stateful(function)
    nodes = [node for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.expr)]
    ordered = sorted(cuts, key=lambda cut: cut.start)
    for node in sorted(nodes, key=last_line):
        at = bisect(ordered, last_line(node), key=lambda cut: cut.start)
        cut = ordered[at - 1] if at and last_line(node) <= ordered[at - 1].end else None
        if cut is None and _name(node) in acted:
            return True
        if cut is not None and (names := _acted_on(node) & stateful) and ast.unparse(node) not in "\n".join(cut.lines):
            acted |= names
    return False


def _acted_on(node: ast.expr) -> set[str]:
    """The names that a call may act on, and a comprehension's calls; none for an assertion's own call."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name == "raises" or name.startswith("assert"):
            values = list[ast.expr]()
        case ast.Call(func=called, args=given, keywords=named):
            owner = [called.value] if isinstance(called, ast.Attribute) else []
            values = [*owner, *given, *(keyword.value for keyword in named)]
        case ast.ListComp(generators=parts) | ast.SetComp(generators=parts) | ast.GeneratorExp(generators=parts):
            values = [part.iter for part in parts]
        case _:
            values = []
    return {name for value in values for one in ast.walk(value) if (name := _name(one))}


def _name(node: ast.AST) -> str:
    """A bare name, or an attribute of `self` with it; empty for anything else."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return f"self.{name}"
        case ast.Name(id=name) if name != "self":
            return name
    return ""


def _stateful(function: Function) -> set[str]:
    """The names of a test that may hold something with a state: its parameters, what it binds, what `self` has."""
    parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    constant = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    named = (node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    bound = Counter(node.id for node in named)
    held = {_name(node) for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    return parameters | {name for name, times in bound.items() if name not in constant or times > 1} | held
