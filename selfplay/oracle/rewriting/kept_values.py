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
_OWN = frozenset(["self", "cls"])


def is_container(value: ast.expr) -> bool:
    """Whether something can be put into a value that stands outside of functions."""
    match value:
        case ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _CONTAINERS
    return False


def stores_outside(tree: ast.Module, fresh: Set[int]) -> Iterator[ast.expr]:
    """What functions store into in these lines that is neither theirs nor their object's."""
    for statement in tree.body:
        for function in _outermost(statement):
            own = _OWN | _bound(function)
            for node in ast.walk(function):
                if not isinstance(node, ast.Attribute | ast.Subscript) or isinstance(node.ctx, ast.Load):
                    continue
                if node.lineno in fresh and not _is_own(node, own):
                    yield node


def _outermost(statement: ast.stmt) -> Iterator[ast.stmt]:
    waiting = [statement]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Function):
            yield one
        else:
            waiting += [child for child in ast.iter_child_nodes(one) if isinstance(child, ast.stmt)]


def _bound(function: ast.stmt) -> set[str]:
    """The names that a function and those inside it bind; what it says to be global is none of them."""
    found, elsewhere = set[str](), set[str]()
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.Global(names=names):
                elsewhere.update(names)
    return found - elsewhere


def _is_own(node: ast.expr, own: Set[str]) -> bool:
    """Whether `a.b[c].d` begins with one of these names, or with what a call makes of them."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    names = ast.walk(node) if isinstance(node, ast.Call) else [node]
    return any(isinstance(one, ast.Name) and one.id in own for one in names)
