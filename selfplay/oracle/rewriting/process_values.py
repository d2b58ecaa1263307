"""New code that takes a value from the process or the machine, and not from what it is given.

In a test such a value may be the right constant by chance (`threading.active_count() - 1` is 0), and no input varies
it. Looked at are modules of the standard library that know of more than their arguments.
"""

import ast
import sys
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from selfplay.oracle.rewriting.python_trees import Function

_KNOWING = frozenset(
    ["_thread", "atexit", "contextvars", "faulthandler", "gc", "getpass", "grp", "importlib", "linecache", "locale",
     "logging", "mmap", "multiprocessing", "os", "pathlib", "platform", "pwd", "resource", "sched", "select",
     "selectors", "shutil", "signal", "site", "subprocess", "sys", "sysconfig", "tempfile", "threading", "time",
     "tracemalloc", "warnings", "weakref"]
)  # fmt: skip
_FIXED = frozenset(
    ["stdin", "stdout", "stderr", "maxsize", "maxunicode", "byteorder", "version_info", "hexversion", "implementation",
     "platform", "float_info", "int_info", "hash_info", "sep", "altsep", "extsep", "pathsep", "linesep", "curdir",
     "pardir", "devnull", "name", "path", "getLogger", "exc_info", "ref", "proxy", "fsencode", "fsdecode"]
)  # fmt: skip
"""Attributes of these modules that are the same in any process, or belong to what the program does itself."""


@dataclass(frozen=True)
class _Known:
    """A name of a file: a module, or what is imported from one."""

    module: str
    attribute: str = ""


def values_of_process(tree: ast.Module, fresh: Set[int]) -> Iterator[ast.expr]:
    """The expressions in functions and in these lines that are such values."""
    names = dict(_names(tree))
    if not names:
        return
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        waiting: list[ast.AST] = [*function.body]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Function | ast.ClassDef):
                continue  # it comes by itself, or is weak as it is
            if isinstance(node, ast.expr) and node.lineno in fresh and _is_taken(node, names):
                yield node
            else:
                waiting += _inside(node)


def _inside(node: ast.AST) -> list[ast.AST]:
    """What is looked at inside a node: not what is called, if it is a dotted name, nor a call of which nothing is used,
    or which only begins something."""
    match node:
        case ast.Expr(value=ast.Call() as call) | ast.withitem(context_expr=ast.Call() as call):
            return [*_receiver(call.func), *call.args, *call.keywords]
        case ast.Call():
            return [*_receiver(node.func), *node.args, *node.keywords]
        case ast.Attribute():
            return _receiver(node)
        case ast.AnnAssign(value=value):
            return [value] if value is not None else []
    return [*ast.iter_child_nodes(node)]


def _names(tree: ast.Module) -> Iterator[tuple[str, _Known]]:
    """What the file imports from modules that know more, and what it calls such a module besides."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for one in names:
                    if _knows(one.name):
                        whole = one.asname or one.name.partition(".")[0]
                        yield whole, _Known(one.name if one.asname else whole)
            case ast.ImportFrom(module=str(module), level=0, names=names) if _knows(module):
                yield from ((one.asname or one.name, _Known(module, one.name)) for one in names)


def _knows(module: str) -> bool:
    return module.partition(".")[0] in _KNOWING


def _is_taken(node: ast.expr, names: Mapping[str, _Known]) -> bool:
    """Whether it is a value of a module, what a function of one gives that is given nothing but constants, or a module
    that is given to something else."""
    match node:
        case ast.Call(func=ast.Attribute() | ast.Name() as called, args=args, keywords=words):
            given = [*args, *(one.value for one in words)]
            own = any(isinstance(one, ast.Name) for part in given for one in ast.walk(part))
            return not own and _says(called, names)
        case ast.Attribute():
            return _says(node, names) and not _is_function(node, names)
        case ast.Name(id=name, ctx=ast.Load()) if name in names:
            return not names[name].attribute or (_says(node, names) and not _is_function(node, names))
    return False


def _says(node: ast.expr, names: Mapping[str, _Known]) -> bool:
    """Whether a dotted name is one of these modules' own, and neither a class nor a constant nor always the same."""
    inner = _attributes(node, names)
    return bool(inner) and not {*inner} & _FIXED and not inner[-1][:1].isupper()


def _is_function(node: ast.expr, names: Mapping[str, _Known]) -> bool:
    """Whether a name of such a module is a function or a class in this interpreter, if it has loaded the module; none
    is loaded for this."""
    module = sys.modules.get(names[_dotted(node)[0]].module)
    return module is None or callable(vars(module).get(_attributes(node, names)[0]))


def _attributes(node: ast.expr, names: Mapping[str, _Known]) -> list[str]:
    """What a dotted name takes of such a module, dot by dot; nothing for the module itself and for any other name."""
    parts = _dotted(node)
    if not parts or parts[0] not in names:
        return []
    known = names[parts[0]]
    return [known.attribute, *parts[1:]] if known.attribute else parts[1:]


def _dotted(node: ast.expr) -> list[str]:
    """The parts of a dotted name; none of anything else."""
    parts = list[str]()
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def _receiver(called: ast.expr) -> list[ast.AST]:
    """What stands before the last dot of what is called, if it is more than a dotted name."""
    inner = called
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return [] if isinstance(inner, ast.Name) else [inner]
