"""Finds the test functions in a Python file, and those that an id names."""

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from selfplay.plain_text import encode
from selfplay.python_source import syntax_tree

FIRST_WORDS, LAST_WORDS = 2, 6
"""How many words at the beginning and at the end of an id are kept: the names of class and function stand at one of
them. Each is kept with all beside it."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Owner:
    """The class around a test. `path`: how module code reaches it, with the classes around it."""

    node: ast.ClassDef
    path: str

    @property
    def name(self) -> str:
        return self.node.name


Test = tuple[Function, Owner | None]


def without(tree: ast.Module, gone: Collection[int]) -> ast.Module:
    """The tree with `pass` instead of the functions whose `id` is in `gone`."""
    found: ast.Module = _Without(set(gone)).visit(tree)
    return found


def loaded(name: str) -> ast.Name:
    """The value of a variable."""
    return ast.Name(name, ast.Load())


class Unwritable(RecursionError):
    """A tree that Python cannot write as text: nested too deeply, or, before 3.12, with a string in an f-string that
    needs a backslash."""


def unparsed(tree: ast.Module) -> str:
    """The tree as text. Raises `Unwritable`."""
    try:
        return ast.unparse(ast.fix_missing_locations(tree)).encode("utf-8", "backslashreplace").decode() + "\n"
    except (ValueError, RecursionError) as error:
        raise Unwritable(str(error)) from error


def source_of(node: ast.expr) -> str:
    """The source of an expression; empty if it cannot be written."""
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError):
        return ""


def first_line(function: Function) -> int:
    """The line at which a function begins, with its decorators, as its code object gives it."""
    return min(node.lineno for node in (function, *function.decorator_list))


def is_text(node: ast.AST) -> bool:
    """Whether a statement is a constant alone, such as documentation."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def beginning(tree: ast.Module) -> int:
    """The index of the first statement that is neither a docstring nor a `__future__` import: there a line runs before
    any that loads the program."""
    at = int(ast.get_docstring(tree) is not None)
    while at < len(tree.body) and getattr(tree.body[at], "module", None) == "__future__":
        at += 1
    return at


def begun_with(source: str, text: str) -> str:
    """A file that Python wrote, with these statements before all others. Raises `Unwritable`."""
    tree, more = parsed(text), parsed(source)
    if tree is None or more is None:  # longer than what is read, with what we put in
        raise Unwritable("it cannot be read again")
    at = beginning(tree)
    tree.body[at:at] = more.body
    return unparsed(tree)


def bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements in a node, without those of functions and classes in it; however deeply they are nested,
    as a long `elif` is."""
    left: list[ast.AST | list[ast.stmt]] = [node]
    while left:
        if isinstance(one := left.pop(), list):
            yield one
            continue
        found: list[ast.AST | list[ast.stmt]] = []
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            some = getattr(one, name, ())
            if isinstance(some, list) and some:
                found += [some] if isinstance(some[0], ast.stmt) else []
                found += [child for child in some if not isinstance(child, Function | ast.ClassDef)]
        left += reversed(found)


def own_lines(statement: ast.stmt) -> set[int]:
    """The lines of a statement, without those of the statements in it."""
    parts = [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    inner = [one for part in parts for name in ("body", "orelse", "finalbody") for one in getattr(part, name, ())]
    return {*_lines(statement)}.difference(*(_lines(one) for one in inner))


def _lines(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def parsed(text: str) -> ast.Module | None:
    """Parse a text, as bytes: only bytes may begin with a byte order mark, or declare an encoding."""
    try:
        tree: ast.Module = syntax_tree(encode(text))
        return tree
    except (SyntaxError, ValueError, RecursionError):
        return None


def find(tree: ast.AST) -> Iterator[Test]:
    """Every test function outside other functions, with the class around it, in source order."""
    left: list[tuple[ast.AST, Owner | None]] = [(tree, None)]
    while left:
        node, owner = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test"):
                yield node, owner
            continue
        if isinstance(node, ast.ClassDef):
            owner = Owner(node, f"{owner.path}.{node.name}" if owner else node.name)
        elif not isinstance(node, ast.Module | ast.If | ast.Try | ast.With):
            continue
        left += [(child, owner) for child in reversed(list(ast.iter_child_nodes(node)))]


class WantedTests:
    """Finds which functions of a file belong to the tests with these ids."""

    def __init__(self, path: str, tests: Collection[str]) -> None:
        self._beside: dict[str, set[str]] = {}
        """Word -> the words of all ids that contain it."""
        for test in tests:
            if "::" in test and not _of_file(test.partition("::")[0], path):
                continue
            every = re.findall(r"\w+", test.split("[")[0])
            words = {*every[:FIRST_WORDS], *every[-LAST_WORDS:]}
            for word in words:
                self._beside.setdefault(word, set()).update(words)

    def has(self, function: Function, owner: Owner | None) -> bool:
        beside = self._beside.get(function.name)
        return beside is not None and (owner is None or owner.name in beside)


def _of_file(named: str, path: str) -> bool:
    """Whether the path in an id can be this file's. A suite that runs in a sub-folder names its files relative to that
    folder."""
    return f"/{path}".endswith(f"/{named}") or f"/{named}".endswith(f"/{path}")


class _Without(ast.NodeTransformer):
    """Replaces the functions in `gone` with `pass`."""

    def __init__(self, gone: set[int]) -> None:
        self._gone = gone

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return ast.Pass() if id(node) in self._gone else node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return ast.Pass() if id(node) in self._gone else node
