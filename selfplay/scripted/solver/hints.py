"""Signs within a function that code is missing: names it takes or binds and never reads, helpers that are never called.

Removed code leaves loose ends: a parameter, a local, an import or a helper that nothing uses any more.
"""

import ast
import re
from functools import lru_cache

from selfplay.python_source import syntax_tree
from selfplay.scripted.edits.names import CodeNames, Function, parameters, top_level_names
from selfplay.scripted.solver.evidence import CodePlace, Evidence


@lru_cache(maxsize=4096)
def unread(function: Function) -> frozenset[str]:
    """Parameters and locals the function never reads (`self` and the likes aside)."""
    names = CodeNames(function)
    every = {*parameters(function), *names.bound} - {"self", "cls", "_"}
    return frozenset(name for name in every if name not in names.read)


def idle(evidence: Evidence, path: str) -> set[str]:
    """Imports, helpers and methods of a file that no source mentions a second time."""
    return _idle(evidence.texts[path], "\n".join(evidence.texts.values()))


@lru_cache(maxsize=64)
def _idle(text: str, everything: str) -> set[str]:
    tree = syntax_tree(text)
    imported = {
        name
        for statement in tree.body
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for name in top_level_names(statement)
    }
    words = _counts(text)
    found = {name for name in imported if words.get(name, 0) == 1}
    defined = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__")
    }
    all_words = _counts(everything)
    return found | {name for name in defined if all_words.get(name, 0) == 1}


@lru_cache(maxsize=64)
def _counts(text: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in re.findall(r"\w+", text):
        counts[word] = counts.get(word, 0) + 1
    return counts


def module_names(evidence: Evidence, path: str) -> set[str]:
    """Names a module's functions can use: what its top level binds."""
    return {name for statement in evidence.trees[path].body for name in top_level_names(statement)}


def attributes_of(evidence: Evidence, place: CodePlace) -> list[str]:
    """Attributes of `self` that the class's methods mention, the most mentioned first."""
    for node in ast.walk(evidence.trees[place.path]):
        if isinstance(node, ast.ClassDef) and place.function in node.body:
            counts: dict[str, int] = {}
            for inner in ast.walk(node):
                if (
                    isinstance(inner, ast.Attribute)
                    and isinstance(inner.value, ast.Name)
                    and inner.value.id in ("self", "cls")
                ):
                    counts[inner.attr] = counts.get(inner.attr, 0) + 1
            return sorted(counts, key=lambda name: -counts[name])
    return []
