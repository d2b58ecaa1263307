"""New code that keeps something from one call to the next: containers outside of functions, and stores into what is no
local. A store and what reads it need each other, so no part of them can be taken away alone; and whether it is kept too
long, or by whom else it is changed, no input tells."""

import ast
from collections.abc import Iterator, Set

from selfplay.oracle.rewriting.python_trees import Function

_CONTAINERS = frozenset(
    ["list", "dict", "set", "bytearray", "deque", "defaultdict", "OrderedDict", "Counter", "ChainMap", "UserDict",
     "UserList", "WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "SimpleNamespace", "local", "ContextVar",
     "count", "cycle", "iter", "array", "StringIO", "BytesIO", "Queue", "SimpleQueue", "LifoQueue", "PriorityQueue"]
)  # fmt: skip
_LIBRARIES = frozenset(
    ["builtins", "collections", "weakref", "types", "threading", "contextvars", "itertools", "array", "io", "queue"]
)
_CHANGING = frozenset(
    ["append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault", "clear", "pop", "popitem",
     "popleft", "remove", "discard", "sort", "reverse", "put", "__setitem__", "__setattr__", "__delitem__"]
)  # fmt: skip
_SETTING = frozenset(["setattr", "delattr", "next"])
_TYPES = frozenset(["bytearray", "dict", "list", "object", "set"])
"""Built-in types, whose methods change what they are given first."""
_MAKING = frozenset(["collections", "copy", "hashlib", "hmac", "io", "re", "zlib"])
"""Modules whose functions return what nobody else has."""
MOST_STEPS = 10
"""How often a name may stand for a name that stands for another one."""
_OF_ALL = frozenset(["globals", "vars", "locals", "type", "getattr"])
"""What gives something that others have, too, whatever it is given."""


def is_container(value: ast.expr) -> bool:
    """Whether something can be put into a value that stands outside of functions."""
    match value:
        case ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.SetComp():
            return True
        case (
            ast.Call(func=ast.Name(id=name))
            | ast.Call(func=ast.Attribute(value=ast.Name(id=("dict" | "list")) | ast.Name(), attr=name))
        ) if name in _CONTAINERS or name == "fromkeys":
            module = value.func.value if isinstance(value.func, ast.Attribute) else None
            return module is None or name == "fromkeys" or (isinstance(module, ast.Name) and module.id in _LIBRARIES)
    return False


def stores_outside(tree: ast.Module, fresh: Set[int]) -> Iterator[ast.expr]:
    """What functions store into in these lines that is neither theirs nor their object's."""
    imported = {one.asname or one.name.partition(".")[0] for one in ast.walk(tree) if isinstance(one, ast.alias)}
    for statement in tree.body:
        for function in _outermost(statement):
            own = _bound(function)
            for node in ast.walk(function):
                place = _stored(node, own | imported)
                if place is not None and place.lineno in fresh and not _is_own(place, own):
                    yield place


def new_attributes(tree: ast.Module, known: Set[str]) -> Iterator[ast.Attribute]:
    """The attributes that functions store into and that have none of these names, if they are of what a function is
    given: who has no place for it, or copies or compares it, meets them; not those of what it makes."""
    for statement in tree.body:
        for function in _outermost(statement):
            given = {"self", *(one.arg for one in ast.walk(function) if isinstance(one, ast.arg))}
            for node in ast.walk(function):
                match node:
                    case ast.Attribute(attr=name, ctx=ast.Store()) if name not in known and _is_own(node, given):
                        yield node


def _stored(node: ast.AST, known: Set[str]) -> ast.expr | None:
    """The place that a node stores into, or the object that it changes. `known`: of methods of other names' objects
    only those are told from functions of a module."""
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return node
        case ast.Call(func=ast.Attribute(value=ast.Name(id=kind), attr=name), args=[place, *_]) if (
            name in _CHANGING and kind in _TYPES - known
        ):
            return place
        case ast.Call(func=ast.Attribute(value=place, attr=name)) if name in _CHANGING:
            return None if isinstance(place, ast.Name) and place.id in known else place
        case ast.Call(func=ast.Name(id="next"), args=[ast.Call(func=ast.Attribute(attr="finditer")), *_]):
            return None
        case ast.Call(func=ast.Name(id=name), args=[place, *_]) if name in _SETTING:
            return place
    return None


def _outermost(statement: ast.stmt) -> Iterator[ast.stmt]:
    waiting = [statement]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Function):
            yield one
        else:
            waiting += [child for child in ast.iter_child_nodes(one) if isinstance(child, ast.stmt)]


def _bound(function: ast.stmt) -> set[str]:
    """The names that a function and those inside it bind to what is theirs; not what it says to be global, its class,
    and what is only another name for something else (`memo = f.__dict__`, `for one in REGISTRY`)."""
    found, elsewhere, given = {"self"}, set[str](), list[tuple[str, ast.expr]]()
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name) if name != "cls":
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.MatchMapping(rest=str(name)) | ast.alias(asname=str(name)) | ast.ClassDef(name=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if node is not function:
                found.add(name)
            case ast.Global(names=names):
                elsewhere.update(names)
        given += _given(node)
    own = found - elsewhere
    for _ in range(MOST_STEPS):
        foreign = {name for name, value in given if name in own and _is_name_of_other(value, own)}
        if not foreign:
            return own
        own -= foreign
    return own - {name for name, _ in given}


def _given(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """(a name, what it is bound to, or what that is an item of)"""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((name, value) for target in targets for name in _names_in(target))
        case ast.NamedExpr(target=target, value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from ((name, value) for name in _names_in(target))
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            yield from ((name, value) for name in _names_in(target))


def _names_in(target: ast.expr) -> list[str]:
    return [one.id for one in ast.walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]


def _is_name_of_other(value: ast.expr, own: Set[str]) -> bool:
    """Whether it is a name, an attribute or an item of what is not the function's: a call or a slice is made anew."""
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
        return False
    return isinstance(value, ast.Name | ast.Attribute | ast.Subscript) and not _is_own(value, own)


def _is_own(node: ast.expr, own: Set[str]) -> bool:
    """Whether `a.b[c].d` begins with one of these names, or with what is made anew of them."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and node.attr == "__class__":
            return False
        node = node.value
    match node:
        case ast.Name(id=name):
            return name in own
        case ast.Call(func=ast.Name(id=name), args=given):
            return name == "super" or (name not in _OF_ALL and any(_is_own(one, own) for one in given))
        case ast.Call(func=ast.Attribute(value=place)):
            return _is_own(place, own) or (isinstance(place, ast.Name) and place.id in _MAKING)
        case ast.BoolOp(values=parts):
            return all(_is_own(one, own) for one in parts)
        case ast.IfExp(body=body, orelse=other):
            return _is_own(body, own) and _is_own(other, own)
        case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
            return _is_own(value, own)
    return not isinstance(node, ast.Name)  # a constant, or what is made in this place
