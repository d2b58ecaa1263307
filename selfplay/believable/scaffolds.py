"""What a removal leaves standing: code that prepares for, or asks about, what is no longer done.

A list that nothing fills any more, a mode that is never set, a parameter that nobody reads: no linter minds most of
these, but a reader sees at once that something was taken out. Only what is new counts. This is no rule of the gate,
since real regressions have such things too (a fix often was that a parameter is used); the removal strategy asks it.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from selfplay.believable.blocks import Function, is_bound, statements
from selfplay.believable.moot import moot_code
from selfplay.patches.lines import split_lines
from selfplay.python_source import shared_tree

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
MOST_LINES, MOST_CHARACTERS = 1_000, 50_000
"""Lines and characters of what is looked at; a function in another is looked at again for each around it."""
_Definition = Function | ast.ClassDef


@dataclass(frozen=True)
class Standing:
    """What stands in a function, or in a class with its methods, by name. `unread`: parameters that it does not read;
    `unfilled`: what it reads, and only ever sets to one of the `EMPTY` values; `unspent`: what it fills and does not
    read; `moot`: conditions on which nothing depends, heads of loops that do nothing or once, and what says nothing."""

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
        if old_lines != new_lines and all(_is_moderate(lines) for lines in (old_lines, new_lines)):
            found += _new(name, _standing(one), _standing(other))
    return found


def _is_moderate(lines: Sequence[str]) -> bool:
    return len(lines) <= MOST_LINES and sum(map(len, lines)) <= MOST_CHARACTERS


def _new(name: str, old: Standing, new: Standing) -> Iterator[str]:
    yield from (f"{name} no longer reads its parameter {one}" for one in sorted(new.unread - old.unread))
    yield from (f"{name} no longer sets {one}" for one in sorted(new.unfilled - old.unfilled))
    yield from (f"{name} fills {one} for nothing" for one in sorted(new.unspent - old.unspent))
    yield from (f"nothing depends on {one} in {name}" for one in sorted(new.moot - old.moot))


def _definitions(text: str) -> Mapping[str, tuple[_Definition, Sequence[str]]]:
    """Dotted name -> each function and class, with its lines."""
    lines, found, times = split_lines(text), dict[str, tuple[_Definition, Sequence[str]]](), Counter[str]()
    for where, node in statements(shared_tree(text)):
        if isinstance(node, _Definition):
            times[name := f"{where}{node.name}"] += 1
            key = name if times[name] == 1 else f"{name} ({times[name]})"
            found[key] = node, lines[node.lineno - 1 : node.end_lineno]
    return found


def _standing(node: _Definition) -> Standing:
    return _of_class(node) if isinstance(node, ast.ClassDef) else _of_function(node)


def _of_function(function: Function) -> Standing:
    every = list(ast.walk(function))
    read = {node.id for node in every if isinstance(node, ast.Name) and not is_bound(node)}
    given = [one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)]
    unread = {one for one in given[_is_method(given) :] if one not in read and not one.startswith("_")}
    if read & {"locals", "vars", "eval", "exec"}:
        return Standing()
    moot = frozenset(moot_code(function, every))
    given += _otherwise_bound(every)
    return Standing(frozenset(unread), _unfilled(every, given, _local), _unspent(every, given, _local), moot)


def _of_class(node: ast.ClassDef) -> Standing:
    every = list(ast.walk(node))
    private = {name for name in _unspent(every, (), _attribute) if name.startswith("self._")}
    unset = frozenset(_unset(node, every))
    return Standing(unfilled=_unfilled(every, (), _attribute) | unset, unspent=frozenset(private))


def _unset(owner: ast.ClassDef, every: Sequence[ast.AST]) -> Iterator[str]:
    """Fields that are read, and that nothing in the class sets or defines; what is changed in place is read."""
    own = [node for one in owner.body for node in ([one] if isinstance(one, _Definition) else ast.walk(one))]
    named = {node.name for node in own if isinstance(node, _Definition)}
    named |= {node.id for node in own if isinstance(node, ast.Name) and is_bound(node)}
    changed = {id(node.target) for node in every if isinstance(node, ast.AugAssign)}
    changed |= {id(node.target) for node in every if isinstance(node, ast.AnnAssign) and node.value is None}
    fields = [(name, is_bound(node) and id(node) not in changed) for node in every if (name := _attribute(node))]
    there = {name for name, bound in fields if bound} | {f"self.{name}" for name in named}
    yield from (name for name, _ in fields if name not in there)


def _otherwise_bound(every: Sequence[ast.AST]) -> Iterator[str]:
    """Names that something else than an assignment binds here, or code elsewhere may bind."""
    for node in every:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (one.asname or one.name.partition(".")[0] for one in names)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


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
    uses = _uses(every, name_of, harmless)
    bound = {name: values for name, values in _bound(every, name_of).items() if len(values) == 1 and values <= EMPTY}
    filled = {name for name, reads in uses if not reads and bound.get(name, EMPTY) <= FILLABLE}
    return frozenset({name for name, _ in uses} & bound.keys() - {*given} - filled)


def _uses(every: Sequence[ast.AST], name_of: Callable[[ast.AST], str | None], such: set[int]) -> list[tuple[str, bool]]:
    """The name at each place where one is read, and whether the place is one of `such`, by `id`."""
    return [(name, id(node) in such) for node in every if (name := name_of(node)) and not is_bound(node)]


def _bound(every: Sequence[ast.AST], name_of: Callable[[ast.AST], str | None]) -> dict[str, set[str]]:
    """What each name is bound to, as source; "" for anything that is not short."""
    plain = {id(target): ast.unparse(value) for one in every for target, value in _plain(one) if _is_short(value)}
    found = dict[str, set[str]]()
    for node in every:
        if (name := name_of(node)) and is_bound(node):
            found.setdefault(name, set()).add(plain.get(id(node), ""))
    return found


def _unspent(
    every: Sequence[ast.AST], given: Sequence[str], name_of: Callable[[ast.AST], str | None]
) -> frozenset[str]:
    """What begins empty, and is read by statements that fill it alone."""
    filling = {id(node) for one in every for node in _filled(one)}
    uses = _uses(every, name_of, filling)
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
