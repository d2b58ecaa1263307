"""New code of which no part can be taken away while the program runs (`parts.py`), so that nobody can tell whether it
is needed: a grade says so.

A list of what may stand there, not of what may not: outside of functions plain values, in what is raised what names and
shows them, of numbers small ones and those that the program has. A number takes part in what its line does, so that all
go wrong without it (`(i + 4095) % 4096`); what lies beyond it no input may ever show.
"""

import ast
from collections.abc import Iterator, Set

from selfplay.oracle.rewriting.inert import inert, own_names
from selfplay.oracle.rewriting.kept_values import is_container, new_attributes, stores_outside
from selfplay.oracle.rewriting.program_numbers import SMALL, UNKNOWN, most_times, number_of, numbers_in_text
from selfplay.oracle.rewriting.python_trees import Function, is_text, source_of

MOST_SHOWN = 60
_SHOWING = frozenset(["type", "repr", "isinstance", "issubclass", "callable", "hasattr", "all", "any"])
_OF_TEXTS = frozenset(["format", "join"])
_EMPTY = (ast.List, ast.Tuple, ast.Set)
_SCOPE = "binds a name elsewhere"
_ALTERNATIVES = "is one of several patterns"
_DEFAULT = "is no plain default"
_HELD = "is held as the default of an inner function's argument"
_RAISED, _ASSERTED = "runs code for what is raised", "runs code for an assertion, which may be left out (`python -O`)"
_OUTSIDE = "is more than a plain value outside of functions"
_KEPT = "could keep something from one call to the next"
_ELSEWHERE = "is a place outside of the call, and keeps what is stored there"
_NEW = "is an attribute that the changed files do not have"
_COMPUTED = "is no list of kinds of errors, by name"
_UNUSED = "is imported and not used"
_HIDING = "hides errors of any kind"
_IN_A_FUNCTION = "is a class that a function makes"
_MADE = "is run where a function makes another one"
_PATTERN = "is a pattern that may not match"
_NUMBER = "is a number that the program does not have"
_LEAVING = (ast.Return, ast.Break, ast.Continue)


def fixed_code(
    tree: ast.Module, fresh: Set[int], numbers: Set[float] = frozenset(), attributes: Set[str] | None = None,
    known: Set[str] = frozenset(),
) -> Iterator[str]:  # fmt: skip
    """What stands in the fresh lines and cannot be taken away, in words. `numbers`, `attributes`: those that the
    program has, by value and by name; None: any. `known`: the source of its expressions."""
    own = own_names(tree)
    memo = dict[int, float | None]()
    for node in _in_functions(tree):
        if getattr(node, "lineno", 0) in fresh:
            yield from _of_function(node, numbers, memo)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if getattr(node, "lineno", 0) in fresh:
            told = ((one, why) for one, why in _of(node, own) if why != _DEFAULT or ast.unparse(one) not in known)
            yield from (f"`{_short(one)}` {why}" for one, why in told)
        if isinstance(node, ast.Try | ast.TryStar) and _lines(node) & fresh:  # its last part alone may be known
            yield from (f"`{_short(one)}` {_HIDING}" for one in _leaving(node))
    yield from (f"`{_short(one)}` {_ELSEWHERE}" for one in stores_outside(tree, fresh))
    if attributes is not None:
        yield from (f"`{_short(one)}` {_NEW}" for one in new_attributes(tree, attributes) if one.lineno in fresh)
    for statement in _outside(tree):
        if statement.lineno in fresh:
            yield from _of_module(statement, used)
            for value in _assigned(statement):
                yield from _of_function(value, numbers, memo)


def _of(node: ast.AST, own: frozenset[str]) -> Iterator[tuple[ast.AST, str]]:
    match node:
        case ast.Global() | ast.Nonlocal():
            yield node, _SCOPE
        case ast.MatchOr():
            yield node, _ALTERNATIVES
        case ast.MatchClass() | ast.MatchSequence() | ast.MatchMapping() | ast.MatchStar():
            yield node, _PATTERN
        case ast.Raise(exc=ast.expr() as raised):
            if isinstance(raised, ast.Call) and not _is_kind(raised.func):
                yield raised.func, _RAISED
            words = [one.value for one in raised.keywords] if isinstance(raised, ast.Call) else []
            told = [*raised.args, *words] if isinstance(raised, ast.Call) else [raised]
            told += [node.cause] if node.cause is not None else []
            yield from ((one, _RAISED) for one in told if not _shows(one, own))
        case ast.Name(id="suppress") | ast.Attribute(attr="suppress"):
            yield node, _HIDING
        case ast.ImportFrom(names=names) if any(one.name == "suppress" and one.asname for one in names):
            yield node, _HIDING
        case ast.ExceptHandler(type=ast.expr() as kinds) if not all(map(_is_named, _listed(kinds))):
            yield kinds, _COMPUTED
        case ast.Assert(test=test) if not _shows(test, own):
            yield test, _ASSERTED
        case ast.Lambda(args=given) | ast.FunctionDef(args=given) | ast.AsyncFunctionDef(args=given):
            yield from ((one, _DEFAULT) for one in _defaults(given) if not _is_named(one))


def _is_kind(node: ast.expr) -> bool:
    """Whether it names a kind of errors, or is that of a value: it runs nothing else."""
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[given], keywords=[]):
            return _is_named(given)
        case ast.Attribute(value=value):
            return _is_kind(value)
        case ast.Subscript(value=value, slice=key):
            return _is_named(value) and _is_named(key)
    return isinstance(node, ast.Name)


def _listed(kinds: ast.expr) -> list[ast.expr]:
    return kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]


def _defaults(given: ast.arguments) -> list[ast.expr]:
    return [one for one in (*given.defaults, *given.kw_defaults) if one is not None]


def _in_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """What stands in functions, without texts that do nothing and what is raised."""
    left: list[tuple[ast.AST, bool]] = [(tree, False)]
    while left:
        node, inside = left.pop()
        if isinstance(node, ast.Raise) or (isinstance(node, ast.stmt) and is_text(node)):
            continue
        if inside:
            yield node
        inside = inside or isinstance(node, Function)
        left += [(child, inside) for child in ast.iter_child_nodes(node) if inside or isinstance(child, ast.stmt)]


def _of_function(node: ast.AST, numbers: Set[float], memo: dict[int, float | None]) -> Iterator[str]:
    if isinstance(node, ast.ClassDef):
        yield f"`class {node.name}` {_IN_A_FUNCTION}"
    if isinstance(node, Function):
        yield from (f"`{_short(one)}` {_MADE}" for one in _run_at_once(node))
        held = (one for one in _defaults(node.args) if isinstance(one, ast.Name))
        yield from (f"`{one.id}` {_HELD}" for one in held)  # whoever calls it may give another in its place
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = {one for one in numbers_in_text(node.value) if one > SMALL and one not in numbers}
        found |= {one for one in most_times(node.value) if one not in numbers}
        yield from (f"{one}, in a text, {_NUMBER}" for one in sorted(found))
    value = number_of(node, memo) if isinstance(node, ast.expr) else None
    if value is not None and abs(value) > SMALL and (abs(value) not in numbers or value == UNKNOWN):
        yield f"`{_short(node)}` {_NUMBER}"


def _run_at_once(function: Function) -> Iterator[ast.expr]:
    """What runs where a function is made, beside its defaults."""
    given = [one for one in ast.walk(function.args) if isinstance(one, ast.arg)]
    hints = [one for one in (function.returns, *(arg.annotation for arg in given)) if one is not None]
    yield from (one for one in hints if any(isinstance(each, ast.Call) for each in ast.walk(one)))
    for one in function.decorator_list:
        match one:
            case ast.Call(func=ast.Name(id="wraps") | ast.Attribute(attr="wraps"), args=[ast.Name()], keywords=[]):
                pass
            case _:
                yield one


def _lines(node: ast.AST) -> set[int]:
    return {getattr(one, "lineno", 0) for one in ast.walk(node)}


def _leaving(node: ast.Try | ast.TryStar) -> Iterator[ast.stmt]:
    """What leaves the last part of a `try`, whatever was raised before."""
    for last in node.finalbody:
        yield from (one for one in ast.walk(last) if isinstance(one, _LEAVING))


def _of_module(statement: ast.stmt, used: set[str]) -> Iterator[str]:
    match statement:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            bound = {one.asname or one.name.partition(".")[0] for one in names}
            if not bound & used and getattr(statement, "module", "") != "__future__":
                yield f"`{_short(statement)}` {_UNUSED}"
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            if is_container(value) or not _is_plain(value):
                yield f"`{_short(statement)}` {_KEPT if is_container(value) else _OUTSIDE}"


def _assigned(statement: ast.stmt) -> Iterator[ast.AST]:
    """What is in the value of a module's or a class's variable."""
    if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
        yield from ast.walk(statement.value)


def _outside(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a module and of its classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
            if not isinstance(child, Function):
                yield from _outside(child)


def _is_plain(node: ast.expr) -> bool:
    """A constant, a name, something empty, or what a call makes of these."""
    if isinstance(node, ast.Call):
        return all(map(_is_plain, [*node.args, *(one.value for one in node.keywords)]))
    empty = (isinstance(node, _EMPTY) and not node.elts) or (isinstance(node, ast.Dict) and not node.keys)
    return empty or _is_named(node)


def _is_named(node: ast.expr) -> bool:
    """A constant or a name: nothing that is made once and could keep anything."""
    if isinstance(node, ast.UnaryOp):
        return _is_named(node.operand)
    return _is_named(node.value) if isinstance(node, ast.Attribute) else isinstance(node, ast.Constant | ast.Name)


def _shows(node: ast.expr, own: frozenset[str]) -> bool:
    """Whether it only shows values, as the words of an error do."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    plain = {id(one) for one in calls if _names_or_formats(one, own)}
    return all(id(one) in plain or inert(ast.Call(one.func, [], []), own) for one in calls) and not any(
        isinstance(one, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr) for one in ast.walk(node)
    )


def _names_or_formats(call: ast.Call, own: frozenset[str]) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in _SHOWING and name not in own
        case ast.Attribute(value=ast.Constant(value=str()), attr=name):
            return name in _OF_TEXTS
    return False


def _short(node: ast.AST) -> str:
    text = source_of(node) if isinstance(node, ast.expr) else ast.unparse(node)
    return " ".join(text.split())[:MOST_SHOWN]
