"""Finds locals that a function may read before they are bound, on some path: what a cut or a half-reverted fix leaves
behind, and what Python tells only when that path runs.

The paths of a function are followed once, in time that grows with its length: a state is the set of the locals that
are bound for certain, as bits. Loops may run no round, handlers may begin anywhere in their `try`, and no call is known
to end the program.
"""

import ast
import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache

from selfplay.believable.blocks import Function, statements
from selfplay.patches.lines import split_lines
from selfplay.plain_text import encode
from selfplay.python_source import HeavySource, shared_tree

_COMPREHENSION = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
MOST_LOCALS = 10_000
"""Of a function: as many numbers of as many bits are held."""
MOST_KNOWN, FEW = 5_000, 10
"""Functions whose answer is kept, and the most locals of one that is."""
_KNOWN: dict[bytes, frozenset[str]] = {}
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@lru_cache(maxsize=64)
def maybe_unbound(text: str) -> frozenset[str]:
    """The dotted names of such locals. Raises what `shared_tree` does, and `HeavySource` for a function of too many."""
    lines = [] if "\r" in text else split_lines(text)  # a lone CR ends a line for Python alone
    return frozenset(
        f"{where}{node.name}.{name}"
        for where, node in statements(shared_tree(text))
        if isinstance(node, Function)
        for name in _of(node, "".join(lines[node.lineno - 1 : node.end_lineno]))
    )


def _of(function: Function, text: str) -> frozenset[str]:
    """Such locals of one function, whose lines are `text`, or not known: a change leaves most functions as they
    were."""
    key = hashlib.blake2b(encode(text)).digest() if text else b""
    found = _KNOWN.get(key)
    if found is None:
        found = frozenset(_Paths(function).unbound)
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        if key and len(found) <= FEW:
            _KNOWN[key] = found
    return found


class _Paths:
    """The paths of one function. `unbound`: the locals that may be read too early."""

    def __init__(self, function: Function) -> None:
        given = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
        elsewhere, bound = set[str](), dict[str, None]()
        for node in _own(function.body):
            if isinstance(node, ast.Global | ast.Nonlocal):
                elsewhere |= {*node.names}
            bound |= dict.fromkeys(_bound(node))
        names = [name for name in bound if name not in given | elsewhere]
        if len(names) > MOST_LOCALS:
            raise HeavySource(f"a function has more than {MOST_LOCALS} locals")
        self._bits = {name: 1 << at for at, name in enumerate(names)}
        self._never = (1 << len(names)) - 1  # what no path reaches has everything
        self._breaks: list[int] = []
        self.unbound = set[str]()
        self._block(function.body, 0)

    def _block(self, body: Sequence[ast.stmt], state: int) -> int:
        for statement in body:
            state = self._after(statement, state)
        return state

    def _after(self, node: ast.stmt, state: int) -> int:
        """The state after a statement."""
        match node:
            case ast.If():
                state = self._read([node.test], state)
                return self._block(node.body, state) & self._block(node.orelse, state)
            case ast.While() | ast.For() | ast.AsyncFor():
                return self._loop(node, state)
            case ast.Try() | ast.TryStar():
                return self._try(node, state)
            case ast.With() | ast.AsyncWith():
                return self._block(node.body, self._simple(node.items, state))
            case ast.Match():
                return self._match(node, state)
            case ast.Return() | ast.Raise():
                self._simple([node], state)
                return self._never
            case ast.Break() if self._breaks:
                self._breaks[-1] &= state
                return self._never
            case ast.Break() | ast.Continue():
                return self._never
            case ast.Delete(targets=targets):
                return self._read(targets, state) & ~self._all(_names(targets, ast.Del))
        return self._simple([node], state)

    def _loop(self, node: ast.While | ast.For | ast.AsyncFor, state: int) -> int:
        within = state = self._read([node.test if isinstance(node, ast.While) else node.iter], state)
        if not isinstance(node, ast.While):
            within |= self._all(_bound_in([node.target]))
        self._breaks.append(self._never)
        self._block(node.body, within)
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        return self._block(node.orelse, self._never if endless else state) & self._breaks.pop()

    def _try(self, node: ast.Try | ast.TryStar, state: int) -> int:
        found = self._block(node.orelse, self._block(node.body, state))
        for handler in node.handlers:
            own = self._all([handler.name] if handler.name else [])
            began = self._read([handler.type] if handler.type else [], state) | own
            found &= self._block(handler.body, began)
        return found | self._block(node.finalbody, state & found)

    def _match(self, node: ast.Match, state: int) -> int:
        state, found, every = self._read([node.subject], state), self._never, False
        for case in node.cases:
            within = self._read([case.guard] if case.guard else [], state | self._all(_bound_in([case.pattern])))
            found &= self._block(case.body, within)
            every |= isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None
        return found if every else found & state

    def _simple(self, nodes: Sequence[ast.AST], state: int) -> int:
        """What is read is read first; then what is bound is bound. An annotation alone (`x: int`) binds nothing."""
        bare = {one.target for one in nodes if isinstance(one, ast.AnnAssign) and one.value is None}
        return self._read(nodes, state) | self._all(_bound_in([one for one in nodes if not bare]))

    def _read(self, nodes: Sequence[ast.AST], state: int) -> int:
        """Note what is read too early; what is bound by the way (`:=`) is bound."""
        every = list(_own(nodes))
        state |= self._all(one.target.id for one in every if isinstance(one, ast.NamedExpr))
        again = {one.target for one in every if isinstance(one, ast.AugAssign)}
        names = (one for one in every if isinstance(one, ast.Name) and (isinstance(one.ctx, ast.Load) or one in again))
        self.unbound |= {one.id for one in names if self._bits.get(one.id, 0) & ~state}
        return state

    def _all(self, names: Iterator[str] | Sequence[str]) -> int:
        found = 0
        for name in names:
            found |= self._bits.get(name, 0)
        return found


def _own(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes in the scope of these, and of a definition or a comprehension only what is evaluated there."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, _DEFINITION):
            waiting += node.decorator_list
        elif isinstance(node, _COMPREHENSION):
            waiting.append(node.generators[0].iter)
        elif not isinstance(node, ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _bound_in(nodes: Sequence[ast.AST]) -> Iterator[str]:
    return (name for node in _own(nodes) for name in _bound(node))


def _names(nodes: Sequence[ast.AST], how: type[ast.expr_context]) -> list[str]:
    return [one.id for one in _own(nodes) if isinstance(one, ast.Name) and isinstance(one.ctx, how)]


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a node itself binds."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.alias(asname=asname, name=name):
            yield asname or name.split(".")[0]
