"""Turns Python tests into probes: the same steps with other inputs, where every assertion becomes a record of the
value.

A probe asserts nothing. It contains no expected value that could be read or copied: only a program that behaves like
the original leaves the original's record.
"""

import ast
import copy
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from selfplay.oracle.behaviour.literals import strings, varied
from selfplay.oracle.behaviour.recording import LOCAL, NAMES, PLACEHOLDER
from selfplay.oracle.behaviour.unseen_inputs import TIMES, Novel, Novelty, novel_test
from selfplay.oracle.rewriting.python_claims import RAISES
from selfplay.oracle.rewriting.python_trees import (
    Function,
    WantedTests,
    beginning,
    find,
    loaded,
    parsed,
    unparsed,
    without,
)

MEMBERSHIP = ("assertIn", "assertNotIn")


@dataclass(frozen=True)
class Probed:
    """`text`: the file with probes in place of its tests. `names`: probe -> the test it was made from; `novel`: the
    probes in which every literal is replaced."""

    text: str
    names: dict[str, str]
    novel: frozenset[str] = frozenset()


def probed(
    path: str, text: str, fail_to_pass: Collection[str], most: int, seed: int, novelty: Novelty | None = None
) -> Probed | None:
    """The file with at most `most` probes of its F2P tests; None if there are none, or the text is not Python.
    `novelty`: if it is not given, an input is novel that does not occur in the file.

    The same arguments give the same probes."""
    tree = parsed(text)
    if tree is None:
        return None
    asked, chance = WantedTests(path, fail_to_pass), random.Random(f"{seed} {path}")
    wanted = [test for test in find(tree) if asked.has(*test)]
    if not wanted:
        return None
    names, novel, made = dict[str, str](), set[str](), dict[int, list[Function]]()
    pool, lengths = strings(tree), random.Random(f"{path} {seed}")

    def renewed() -> Novel:
        return Novel(novelty or Novelty(text), chance, lengths.choice(TIMES))

    for number, (function, _) in enumerate(chance.sample(wanted, min(len(wanted), most))):
        variants = _different(function, max(1, most // len(wanted)), chance, pool, renewed)
        for variant, (one, is_novel) in enumerate(variants):
            name = f"test_p{number}_{variant}"
            novel |= {name} if is_novel else set()
            names[name] = function.name
            made.setdefault(id(function), []).append(_probe(one, name, whole=variant // 2 % 2 == 0))
    try:
        return Probed(_written(tree, made), names, frozenset(novel))
    except RecursionError:
        return None


def has_any(path: str, text: str, tests: Collection[str]) -> bool:
    """Whether one of these tests is defined in this file."""
    tree, asked = parsed(text), WantedTests(path, tests)
    return tree is not None and any(asked.has(*test) for test in find(tree))


def only(text: str, probes: Collection[str]) -> str:
    """A file of probes, reduced to these."""
    tree = parsed(text)
    if tree is None:
        return text
    gone = {id(function) for function, _ in find(tree) if function.name not in probes}
    return unparsed(without(tree, gone))


def emptied(text: str) -> str:
    """A test file without its tests; unchanged if it is not Python, or nested too deeply to be unparsed."""
    try:
        return only(text, ())
    except RecursionError:
        return text


def _different(
    function: Function, most: int, chance: random.Random, pool: Sequence[str], renewed: Callable[[], Novel]
) -> Iterator[tuple[Function, bool]]:
    """Yield (a variant, whether every literal of it is replaced), alternating."""
    seen = {ast.dump(function)}
    for turn in range(4 * most):
        novel = turn % 2 == 0
        other = novel_test(function, renewed()) if novel else varied(function, chance, pool)
        if other is None or len(seen) > most:
            return
        said = ast.dump(other)
        if said not in seen:
            seen.add(said)
            yield other, novel


def _written(tree: ast.Module, made: dict[int, list[Function]]) -> str:
    class Instead(ast.NodeTransformer):
        def visit_FunctionDef(self, node: Function) -> ast.AST | list[Function]:
            return made.get(id(node), ast.Pass()) if id(node) in tests else node

        visit_AsyncFunctionDef = visit_FunctionDef

    tests = {id(function) for function, _ in find(tree)}
    changed: ast.Module = Instead().visit(tree)
    changed.body.insert(beginning(changed), ast.ImportFrom(PLACEHOLDER, [ast.alias(one) for one in NAMES], 0))
    return unparsed(changed)


def _probe(function: Function, name: str, *, whole: bool) -> Function:
    """The function as a probe: assertions, and an exception that ends it, are recorded. `whole`: see `Records`."""
    made = copy.deepcopy(function)
    made.name = name
    body: list[ast.stmt] = []
    for statement in made.body:
        found = Records(whole).visit(statement)
        body += found if isinstance(found, list) else [found]
    made.body = [_call("selfplay_begin", ast.Constant(name)), _tried(body, [_call("selfplay_raised", loaded(LOCAL))])]
    return made


class Records(ast.NodeTransformer):
    """Replaces assertions by records of their values. `whole`: of membership in what a name stands for, the container
    is recorded, too. It may be the value that the program gave; but to look at one may also change it, as a cache
    whose items expire."""

    def __init__(self, whole: bool = True) -> None:
        self.whole = whole

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        claim = node.test
        while isinstance(claim, ast.UnaryOp) and isinstance(claim.op, ast.Not):
            claim = claim.operand
        if not isinstance(claim, ast.Compare):
            return _recorded([claim])
        if any(isinstance(one, ast.In | ast.NotIn) for one in claim.ops):
            return self._membership(claim)
        return _recorded([claim.left, *claim.comparators])

    def _membership(self, claim: ast.Compare) -> list[ast.stmt]:
        containers = [one for one in claim.comparators if self.whole or not isinstance(one, ast.Name)]
        return _recorded([claim, claim.left, *containers])

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        call = node.value
        if not isinstance(call, ast.Call):
            return node
        name = called(call)
        if name in RAISES and len(call.args) > 1:  # assertRaises(kind, function, ...)
            return _recorded([ast.Call(call.args[1], call.args[2:], call.keywords)])
        if name.lower().startswith("assert") and call.args:
            values = [one for one in call.args if not isinstance(one, ast.Starred)]
            if name in MEMBERSHIP and len(values) > 1:
                return self._membership(ast.Compare(values[0], [ast.In()], [values[1]]))
            return _recorded(values)
        return node

    def visit_With(self, node: ast.With) -> ast.stmt | list[ast.stmt]:
        """Record whether a block that must raise does so, and what; its other context managers stay."""
        self.generic_visit(node)
        raising = [item for item in node.items if isinstance(item.context_expr, ast.Call)
                   and called(item.context_expr) in RAISES]  # fmt: skip
        if not raising:
            return node
        kept: list[ast.expr | None] = [item.optional_vars for item in raising]
        after: list[ast.stmt] = [_call("selfplay_raised", loaded(LOCAL))]
        after += [ast.Assign([one], ast.Call(loaded("SelfplayCaught"), [loaded(LOCAL)], [])) for one in kept if one]
        node.items = [item for item in node.items if item not in raising]
        body = [*node.body, _call("selfplay_saw", ast.Constant("nothing was raised"))]
        inner = _tried(body, after)
        if not node.items:
            return inner
        node.body = [inner]
        return node


def called(node: ast.Call) -> str:
    """The called name, without the object before the dot."""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def _recorded(values: Sequence[ast.expr]) -> list[ast.stmt]:
    """Record each value that is not a literal, or the exception it raises."""
    asked = [value for value in values if not isinstance(value, ast.Constant)]
    found = [_tried([_call("selfplay_saw", value)], [_call("selfplay_raised", loaded(LOCAL))]) for value in asked]
    return list(found) or [ast.Pass()]


def _tried(body: list[ast.stmt], handler: list[ast.stmt]) -> ast.stmt:
    caught = ast.ExceptHandler(loaded("Exception"), LOCAL, handler)
    return ast.Try(body or [ast.Pass()], [caught], [], [])


def _call(function: str, value: ast.expr) -> ast.stmt:
    return ast.Expr(ast.Call(loaded(function), [value], []))
