"""New code that takes a value from the process or the machine, and not from what it is given.

In a test such a value may be the right constant by chance (`threading.active_count() - 1` is 0), and no input varies
it. Only modules of the standard library are looked at: a list of those that only compute, not of those that do not.
"""

import ast
import sys
from collections.abc import Iterator, Mapping, Set

from selfplay.oracle.rewriting.python_trees import Function

_PURE = frozenset(
    ["__future__", "abc", "array", "ast", "base64", "binascii", "bisect", "bz2", "calendar", "cmath", "codecs",
     "collections", "colorsys", "concurrent", "configparser", "contextlib", "copy", "csv", "dataclasses", "datetime",
     "decimal", "difflib", "dis", "email", "enum", "errno", "fnmatch", "fractions", "functools", "graphlib", "gzip",
     "hashlib", "heapq", "hmac", "html", "http", "io", "ipaddress", "itertools", "json", "keyword", "logging", "lzma",
     "math", "numbers", "operator", "pathlib", "pickle", "posixpath", "ntpath", "pprint", "queue", "random", "re",
     "reprlib", "secrets", "shlex", "stat", "statistics", "string", "struct", "tarfile", "textwrap", "token",
     "tokenize", "tomllib", "types", "typing", "unicodedata", "urllib", "uuid", "warnings", "weakref", "xml",
     "zipfile", "zlib"]
)  # fmt: skip
_FIXED = frozenset(["stdin", "stdout", "stderr", "maxsize", "sep", "linesep", "devnull", "path", "contextmanager"])
"""Attributes of other modules that are the same in any process, or are where a program writes to."""


def values_of_process(tree: ast.Module, fresh: Set[int]) -> Iterator[ast.expr]:
    """The expressions in functions and in these lines that are such values."""
    modules = _modules(tree)
    if not modules:
        return
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        waiting: list[ast.AST] = [*function.body]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Function | ast.ClassDef):
                continue  # it comes by itself, or is weak as it is
            taken = getattr(node, "lineno", 0) in fresh and _is_taken(node, modules)
            if taken and isinstance(node, ast.expr):
                yield node
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                waiting += [*node.value.args, *node.value.keywords]  # what it gives is not used
            elif isinstance(node, ast.withitem) and isinstance(node.context_expr, ast.Call):
                waiting += [*node.context_expr.args, *node.context_expr.keywords]
            elif isinstance(node, ast.Call):
                waiting += [*_receiver(node.func), *node.args, *node.keywords]
            else:
                waiting += ast.iter_child_nodes(node)


def _modules(tree: ast.Module) -> Mapping[str, bool]:
    """Name -> whether it is a module, of what the file imports from modules that do more than compute."""
    found = dict[str, bool]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update({one.asname or one.name.partition(".")[0]: True for one in node.names if _acts(one.name)})
        elif isinstance(node, ast.ImportFrom) and not node.level and _acts(node.module or ""):
            found.update({one.asname or one.name: False for one in node.names})
    return found


def _acts(module: str) -> bool:
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names and top not in _PURE


def _is_taken(node: ast.AST, modules: Mapping[str, bool]) -> bool:
    """Whether it is a value of a module, or what a function of one gives that is given nothing but constants."""
    match node:
        case ast.Call(func=called, args=args, keywords=words):
            given = [*args, *(one.value for one in words)]
            return _says(called, modules) and not any(
                isinstance(one, ast.Name) for part in given for one in ast.walk(part)
            )
        case ast.Attribute() | ast.Name():
            return _says(node, modules) and not isinstance(node, ast.Name)
    return False


def _says(node: ast.expr, modules: Mapping[str, bool]) -> bool:
    """Whether a dotted name is one of these modules' own, and neither a class nor a constant nor always the same."""
    last = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root.id not in modules or (root is node and modules[root.id]):
        return False
    return last not in _FIXED and not last[:1].isupper() and not ast.unparse(node).startswith("os.path.")


def _receiver(called: ast.expr) -> list[ast.AST]:
    """What stands before the last dot of what is called, if it is more than a dotted name."""
    inner = called
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return [] if isinstance(inner, ast.Name) else [inner]
