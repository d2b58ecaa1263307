"""Which files of a tree a JavaScript or TypeScript file loads: what it names by a path relative to itself."""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice

from tree_sitter import Node

from selfplay.syntax.grammar import suffixes, walk
from selfplay.syntax.source import Source

ENDINGS = suffixes("javascript")
MOST_IMPORTS = 1000
"""Imports of one file that are followed."""
_LOADING = frozenset(["import_statement", "export_statement", "import_require_clause"])
_CALLED = frozenset(["require", "import"])


def imported(source: Source) -> frozenset[str]:
    """The relative paths that a file imports, as they stand in it."""
    if source.grammar.family != "javascript":
        return frozenset()
    found = (_named(node, source) for node in walk(source.root))
    return frozenset(islice((name for name in found if name.startswith(".")), MOST_IMPORTS))


def _named(node: Node, source: Source) -> str:
    """The module that a node loads; empty if it loads none, or one that only a run can tell."""
    said: Node | None = None
    if node.type in _LOADING:
        said = node.child_by_field_name("source")
    elif node.type == "call_expression":
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is not None and called.type in ("identifier", "import") and source.said(called) in _CALLED:
            said = given.named_children[0] if given is not None and given.named_children else None
    return source.said(said)[1:-1] if said is not None and said.type == "string" else ""


def resolved(path: str, name: str, files: Collection[str]) -> str | None:
    """The file of the tree that `path` means by a relative `name`; None if it is none of `files`."""
    to = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    stem, _ = posixpath.splitext(to)
    tried = (to, *(f"{to}{end}" for end in ENDINGS), *(f"{stem}{end}" for end in ENDINGS), *_indices(to))
    return next((one for one in tried if one in files), None)


def _indices(folder: str) -> Iterator[str]:
    yield from (posixpath.normpath(f"{folder}/index{end}") for end in ENDINGS)


def turned(loads: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """File -> the files that load it, of file -> the files that it loads."""
    loaded_by = dict[str, list[str]]()
    for path, others in loads.items():
        for other in others:
            loaded_by.setdefault(other, []).append(path)
    return loaded_by


def loading(paths: Iterable[str], loaded_by: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The files that load one of `paths`, be it through others, and these themselves."""
    found, waiting = set[str](), list(paths)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += loaded_by.get(path, ())
    return frozenset(found)
