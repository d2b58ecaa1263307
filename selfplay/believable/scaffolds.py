"""What a removal leaves standing: code that prepares for, or asks about, what is no longer done.

A list that nothing fills any more, a mode that is never set, a parameter that nobody reads: no linter minds most of
these, but a reader sees at once that something was taken out. Only what is new counts. This is no rule of the gate,
since real regressions have such things too (a fix often was that a parameter is used); the removal strategy asks it.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from selfplay.believable.blocks import Function, parsed, statements

READERS = frozenset(
    ["len", "sorted", "tuple", "list", "set", "dict", "frozenset", "sum", "any", "all", "str", "repr", "iter", "max",
     "min", "reversed", "enumerate", "zip", "join", "isinstance", "bool", "map", "filter", "print", "format"]
)  # fmt: skip
"""Functions and methods that only read what they are given."""
KEEPING = frozenset(
    ["sort", "reverse", "clear", "copy", "pop", "popitem", "popleft", "remove", "discard", "index", "count", "keys",
     "values", "items", "get", "union", "intersection", "difference"]
)  # fmt: skip
"""Methods that put nothing into their object."""
FILLING = frozenset(
    ["append", "extend", "insert", "add", "update", "setdefault", "appendleft", "extendleft", "discard", "remove",
     "pop", "clear", "sort", "reverse", "write"]
)  # fmt: skip
"""Methods that change their object."""
FILLABLE = frozenset(["[]", "{}", "list()", "dict()", "set()", "deque()"])
EMPTY = FILLABLE | {"()", "''", "b''", "0", "None", "False", "True", "tuple()"}
"""Values before anything is done, as source, and those that can be filled wherever they are handed to."""


MOST_LINES = 1_000
"""Lines of a function or class that is looked at; one in another is looked at again for each around it."""
_Definition = Function | ast.ClassDef


@dataclass(frozen=True)
class Standing:
    """What stands in a function, or in a class with its methods, by name. `unread`: parameters that it does not read;
    `unfilled`: what it reads, and only ever sets to one of the `EMPTY` values; `unspent`: what it fills and does not
    read; `moot`: conditions on which nothing depends, and heads of loops that do nothing, as source."""

    unread: frozenset[str] = frozenset()
    unfilled: frozenset[str] = frozenset()
    unspent: frozenset[str] = frozenset()
    moot: frozenset[str] = frozenset()


def scaffolds(before: str, after: str) -> list[str]:
    """What is new of these things in the functions and classes of both texts, in words. Raises what `syntax_tree`
    raises."""
    was, now = _definitions(before), _definitions(after)
    found = list[str]()
    for name in sorted(was.keys() & now.keys()):
        (one, old_lines), (other, new_lines) = was[name], now[name]
        if old_lines != new_lines and max(len(old_lines), len(new_lines)) <= MOST_LINES:
            found += _new(name, _standing(one), _standing(other))
    return found


def _new(name: str, old: Standing, new: Standing) -> Iterator[str]:
    yield from (f"{name} no longer reads its parameter {one}" for one in sorted(new.unread - old.unread))
    yield from (f"{name} no longer sets {one}" for one in sorted(new.unfilled - old.unfilled))
    yield from (f"{name} fills {one} for nothing" for one in sorted(new.unspent - old.unspent))
    yield from (f"nothing depends on {one} in {name}" for one in sorted(new.moot - old.moot))


def _definitions(text: str) -> Mapping[str, tuple[_Definition, Sequence[str]]]:
    """Dotted name -> each function and class, with its lines."""
    lines = text.splitlines()
    return {
        f"{where}{node.name}": (node, lines[node.lineno - 1 : node.end_lineno])
        for where, node in statements(parsed(text))
        if isinstance(node, _Definition)
    }


def _standing(node: _Definition) -> Standing:
    return _of_class(node) if isinstance(node, ast.ClassDef) else _of_function(node)


def _of_function(function: Function) -> Standing:
    every = list(ast.walk(function))
    read = {node.id for node in every if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    given = [one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)]
    unread = {one for one in given[_is_method(given) :] if one not in read and not one.startswith("_")}
    if read & {"locals", "vars", "eval", "exec"}:
        return Standing()
    moot = frozenset([*_moot(function), *_idle(function, every)])
    return Standing(frozenset(unread), _unfilled(every, given, _local), _unspent(every, given, _local), moot)


def _of_class(node: ast.ClassDef) -> Standing:
    every = list(ast.walk(node))
    private = {name for name in _unspent(every, (), _attribute) if name.startswith("self._")}
    return Standing(unfilled=_unfilled(every, (), _attribute), unspent=frozenset(private))


def _is_method(given: Sequence[str]) -> int:
    """Whether the first parameter is the object or class itself."""
    return int(given[:1] in (["self"], ["cls"], ["mcs"]))


def _local(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _attribute(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return None


def _unfilled(
    every: Sequence[ast.AST], given: Sequence[str], name_of: Callable[[ast.AST], str | None]
) -> frozenset[str]:
    """What is read and bound to one empty value alone, and is nowhere handed to what may fill it."""
    harmless = {id(node) for one in every for node in _only_read(one)}
    uses = [(name, id(node) in harmless) for node in every if (name := name_of(node)) and not _is_bound(node)]
    bound = {name: values for name, values in _bound(every, name_of).items() if len(values) == 1 and values <= EMPTY}
    filled = {name for name, reads in uses if not reads and bound.get(name, EMPTY) <= FILLABLE}
    return frozenset({name for name, _ in uses} & bound.keys() - {*given} - filled)


def _bound(every: Sequence[ast.AST], name_of: Callable[[ast.AST], str | None]) -> dict[str, set[str]]:
    """What each name is bound to, as source; "" for anything that is not short."""
    plain = {id(target): ast.unparse(value) for one in every for target, value in _plain(one) if _is_short(value)}
    found = dict[str, set[str]]()
    for node in every:
        if (name := name_of(node)) and _is_bound(node):
            found.setdefault(name, set()).add(plain.get(id(node), ""))
    return found


def _unspent(
    every: Sequence[ast.AST], given: Sequence[str], name_of: Callable[[ast.AST], str | None]
) -> frozenset[str]:
    """What begins empty, and is read by statements that fill it alone."""
    filling = {id(node) for one in every for node in _filled(one)}
    uses = [(name, id(node) in filling) for node in every if (name := name_of(node)) and not _is_bound(node)]
    fresh = {name for name, values in _bound(every, name_of).items() if values <= EMPTY}
    return frozenset(
        {name for name, fills in uses if fills} & fresh - {*given} - {name for name, fills in uses if not fills}
    )


def _filled(node: ast.AST) -> Iterator[ast.expr]:
    """The objects that this statement changes, and does nothing else with."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=one, attr=name))) if name in FILLING:
            yield one
        case ast.Assign(targets=[ast.Subscript(value=one)]) | ast.Delete(targets=[ast.Subscript(value=one)]):
            yield one


def _is_bound(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _plain(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment of one value, or of as many as there are targets, each with the value."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            yield from zip(targets, values, strict=True)
        case ast.Assign(targets=targets, value=value):
            yield from ((target, value) for target in targets)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield target, value


def _is_short(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant | ast.List | ast.Dict | ast.Tuple | ast.Call) and not any(
        isinstance(child, ast.expr) for child in ast.iter_child_nodes(value) if not isinstance(child, ast.Name)
    )


def _only_read(node: ast.AST) -> Iterator[ast.expr | None]:
    """The expressions that this node reads without a chance to fill them."""
    match node:
        case ast.If(test=one) | ast.While(test=one) | ast.IfExp(test=one) | ast.UnaryOp(operand=one):
            yield one
        case ast.For(iter=one) | ast.comprehension(iter=one) | ast.Return(value=one) | ast.FormattedValue(value=one):
            yield one
        case ast.Compare(left=one, comparators=more) | ast.BoolOp(values=[one, *more]):
            yield from (one, *more)
        case ast.BinOp(left=one, right=other) | ast.Slice(lower=one, upper=other):
            yield from (one, other)
        case ast.Subscript(value=one, slice=at, ctx=ast.Load()):
            yield from (one, at)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in READERS:
            yield from args
        case ast.Attribute(value=one, attr=name) if name in KEEPING:
            yield one


def _moot(function: Function) -> Iterator[str]:
    """Conditions that make no difference: both branches are the same, or the branch is what follows anyway."""
    for _, node in statements(function):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            yield from _moot_in(block, node) if isinstance(block, list) else ()
    yield from _moot_in(function.body, function)


def _moot_in(block: Sequence[ast.stmt], parent: ast.AST) -> Iterator[str]:
    following = [*block[1:], ast.Continue() if isinstance(parent, ast.For | ast.While) else ast.Return()]
    for one, after in zip(block, following, strict=False):
        if isinstance(one, ast.If):
            then = [ast.dump(each) for each in one.body]
            other = [ast.dump(each) for each in one.orelse] or [ast.dump(after)]
            ends = isinstance(one.body[-1], ast.Return | ast.Raise | ast.Continue)
            if then == other and (one.orelse or (ends and (after in block or isinstance(parent, _WHOLE)))):
                yield ast.unparse(one.test)


_WHOLE = (ast.For, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)
"""Blocks after whose end nothing else follows in one turn."""


def _idle(function: Function, every: Sequence[ast.AST]) -> Iterator[str]:
    """The heads of loops that only move their own names on, which nothing else reads."""
    reads = Counter(node.id for node in every if isinstance(node, ast.Name) and not _is_bound(node))
    for _, loop in statements(function):
        if isinstance(loop, ast.For | ast.While) and all(map(_moves_on, (one for _, one in statements(loop)))):
            own = [node for node in ast.walk(loop) if isinstance(node, ast.Name)]
            read = Counter(node.id for node in own if not _is_bound(node))
            if all(read[node.id] == reads[node.id] for node in own if _is_bound(node)):
                yield ast.unparse(loop.test if isinstance(loop, ast.While) else loop.iter)


def _moves_on(statement: ast.AST) -> bool:
    match statement:
        case ast.Assign(targets=targets):
            return all(isinstance(one, ast.Name | ast.Tuple) for one in targets)
        case ast.AugAssign(target=target):
            return isinstance(target, ast.Name)
        case ast.If() | ast.For() | ast.While() | ast.Continue() | ast.Break() | ast.Pass():
            return True
    return False
