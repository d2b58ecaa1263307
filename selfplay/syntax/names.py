"""Finds the loose names of a source: read but not bound, or bound but not read.

Scopes are built in one walk; a language says which nodes open one and what a node binds (`binding.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from tree_sitter import Node

from selfplay.syntax.source import Source, parse

Kind = Literal["import", "local", "function", "parameter", "other"]


@dataclass(eq=False)
class Binding:
    """A name bound in a scope by the node `at`. The `kind` "other" is not reported when unread: a type, a constant, an
    export."""

    kind: Kind
    at: Node
    reads: int = 0


@dataclass(eq=False)
class Scope:
    """`function`: where `var` and parameters live. `where`: the dotted name of the functions around it."""

    parent: "Scope | None"
    function: bool
    where: str = ""
    bound: dict[str, list[Binding]] = field(default_factory=dict)

    def bind(self, name: str, kind: Kind, at: Node) -> None:
        if name and name != "_":
            self.bound.setdefault(name, []).append(Binding(kind, at))

    def home(self) -> "Scope":
        """The scope of the enclosing function."""
        scope = self
        while not scope.function and scope.parent is not None:
            scope = scope.parent
        return scope

    def find(self, name: str) -> list[Binding]:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bound:
                return scope.bound[name]
            scope = scope.parent
        return []


@dataclass(frozen=True)
class BoundNames:
    """`undefined`: names that are read, but bound neither by the file nor by the language. `unread`: imports, locals
    and functions that nothing reads, by `scope.name`; `unread_parameters`: likewise, those of functions and handlers,
    which no linter minds."""

    undefined: frozenset[str]
    unread: dict[str, Binding]
    unread_parameters: frozenset[str]

    def of(self, *kinds: str) -> frozenset[str]:
        """The unread bindings of these kinds."""
        return frozenset(name for name, binding in self.unread.items() if binding.kind in kinds)


@dataclass(eq=False)
class FoundNames:
    """What a walk collects: scopes, and the reads in them. `maybe`: a name that counts as read if it is bound, and is
    something else if not."""

    scopes: list[Scope] = field(default_factory=list)
    reads: list[tuple[str, Scope, bool]] = field(default_factory=list)

    def open(self, parent: Scope | None, function: bool, where: str) -> Scope:
        self.scopes.append(Scope(parent, function, where))
        return self.scopes[-1]

    def read(self, name: str, scope: Scope, maybe: bool = False) -> None:
        self.reads.append((name, scope, maybe))


@lru_cache(maxsize=64)
def names(language: str, text: str) -> BoundNames:
    """The loose names of a source. Raises `Unreadable`."""
    from selfplay.syntax import binding

    source = parse(language, text)
    found = FoundNames()
    binding.collect(source, found)
    undefined = set()
    for name, scope, maybe in found.reads:
        bound = scope.find(name)
        if bound:
            bound[-1].reads += 1  # it stands for all of its name in its scope, which may be many
        if not bound and not maybe and name not in source.grammar.globals:
            undefined.add(name)
    unread = list(_unread(found, source))
    parameters = frozenset(name for name, binding in unread if binding.kind == "parameter")
    return BoundNames(frozenset(undefined), {name: b for name, b in unread if b.kind != "parameter"}, parameters)


def _unread(found: FoundNames, source: Source) -> Iterator[tuple[str, Binding]]:
    for scope in found.scopes:
        for name, bound in scope.bound.items():
            last = bound[-1]
            if last.reads or last.kind == "other":
                continue
            top = scope.parent is None
            if top and source.grammar.name == "go" and last.kind != "import":
                continue  # other files of the package may read it
            yield f"{scope.where}{name}", last
