"""Methods that only their own file, or Go package, can call: which of them nothing in the file names.

A linter of the language says so of functions (`names.py`); of a method, whose object has a type, by its name alone.
"""

from functools import lru_cache

from selfplay.syntax.grammar import walk
from selfplay.syntax.source import Source, parse

_DECLARED = frozenset(["method_declaration", "method_definition"])
_NAMES = frozenset(["field_identifier", "property_identifier", "private_property_identifier"])


@lru_cache(maxsize=64)
def unnamed_methods(language: str, text: str) -> frozenset[str]:
    """The private methods of a source that nothing else in it names. Raises `Unreadable`."""
    source = parse(language, text)
    declared: dict[int, str] = {}
    named: dict[int, str] = {}
    for node in walk(source.root):
        if node.type in _DECLARED and (name := node.child_by_field_name("name")) is not None:
            declared[name.id] = source.said(name)
        elif node.type in _NAMES:
            named[node.id] = source.said(node)
    asked = {name for place, name in named.items() if place not in declared}
    return frozenset(name for name in declared.values() if _is_private(source, name) and name not in asked)


def _is_private(source: Source, name: str) -> bool:
    return name[:1].islower() if source.grammar.name == "go" else name[:1] in ("_", "#")
