"""What a linter reports about the names in a Python source, from the compiler's own symbol tables.

The text may be hostile, so it is only parsed: the tables are made in C, in time that grows only with its length.
(pyflakes compares definitions with each other, which a text can make quadratic; `benchmarks/bench_believable.py`
compares with it, through ruff.)
"""

import ast
import builtins
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from selfplay.believable.blocks import statements
from selfplay.python_source import shared_tree, symbol_table

_LATER = re.compile(r"^(from __future__ import [^\n#]*)\bannotations\b", re.MULTILINE)
"""With it Python reads no annotation: a symbol table has no name that stands only there."""
_ALWAYS = frozenset(dir(builtins)) | frozenset(
    ["__file__", "__path__", "__builtins__", "__annotations__", "WindowsError", "__module__", "__qualname__",
     "__class__"]
)  # fmt: skip


@dataclass(frozen=True)
class NameIssues:
    """`undefined`: names that are read but not bound. `unused`: imported names that are not read, as `scope.name`.
    `dead`: locals of a function that are bound but not read, in the same form. `orphans`: private functions and classes
    of the module that nothing in it reads."""

    undefined: frozenset[str] = frozenset()
    unused: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()
    orphans: frozenset[str] = frozenset()


def _star(tree: ast.Module) -> bool:
    """Whether the text has a star import, so that undefined names cannot be known."""
    return any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for _, node in statements(tree))


@lru_cache(maxsize=64)
def loose_ends(text: str) -> NameIssues:
    """The loose ends of a source. Raises what `syntax_tree` raises."""
    module, tree = symbol_table(_LATER.sub(r"\1division", text)), shared_tree(text)
    scopes = list(_scopes(module, ""))
    bound = {s.get_name() for s in module.get_symbols() if _binds(s)}
    bound |= {s.get_name() for _, table in scopes for s in table.get_symbols() if s.is_declared_global() and _binds(s)}
    read = {s.get_name() for _, table in scopes for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    read |= {s.get_name() for s in module.get_symbols() if s.is_referenced()}
    exported = _exported(tree)
    undefined = frozenset() if _star(tree) else frozenset(read - bound - _ALWAYS)
    top = {s.get_name() for s in module.get_symbols() if s.is_imported()} - read - exported
    inner = [(where, table, s) for where, table in scopes if table.get_type() == "function" for s in _unread(table)]
    return NameIssues(
        undefined,
        frozenset(top) | {f"{where}{s.get_name()}" for where, _, s in inner if s.is_imported()},
        frozenset(f"{where}{s.get_name()}" for where, _, s in inner if not s.is_imported() and not s.is_namespace()),
        frozenset(
            name
            for s in module.get_symbols()
            if s.is_namespace() and (name := s.get_name()) not in read | exported
            if name.startswith("_") and not name.startswith("__")
        ),
    )


def _scopes(table: symtable.SymbolTable, where: str) -> Iterator[tuple[str, symtable.SymbolTable]]:
    """The scopes inside a scope, each with its dotted name and a final dot."""
    waiting = [(where, child) for child in table.get_children()]
    while waiting:
        outer, scope = waiting.pop()
        name = f"{outer}{scope.get_name()}."
        yield name, scope
        waiting.extend((name, child) for child in scope.get_children())


def _binds(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _unread(function: symtable.SymbolTable) -> Iterator[symtable.Symbol]:
    """Local names of a function that are bound in it, but read neither there nor in a nested scope."""
    read = {s.get_name() for s in function.get_symbols() if s.is_referenced()}
    if read & {"locals", "vars", "eval", "exec"}:
        return  # its code may read any of its names dynamically
    inside = _read_inside(function)
    for symbol in function.get_symbols():
        local = symbol.is_local() and not symbol.is_parameter() and _binds(symbol)
        name = symbol.get_name()
        if local and not symbol.is_referenced() and name not in inside and not name.startswith("_"):
            yield symbol


def _read_inside(function: symtable.SymbolTable) -> set[str]:
    """The names that scopes inside a function take from it or from around it. A function's own table names what those
    inside it take; a class's names only some of it."""
    waiting, found = [*function.get_children()], set[str]()
    while waiting:
        scope = waiting.pop()
        found |= {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_free()}
        if scope.get_type() != "function":
            waiting += scope.get_children()
    return found


def _exported(tree: ast.Module) -> frozenset[str]:
    """The strings in `__all__`: names that other modules read."""
    names: set[str] = set()
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            names.update(
                n.value for n in ast.walk(statement) if isinstance(n, ast.Constant) and isinstance(n.value, str)
            )
    return frozenset(names)
