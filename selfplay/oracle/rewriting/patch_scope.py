"""Finds what a patch does beyond the bug: it changes or removes a function or a statement that the bug left as it was,
or runs code of its own while the module is loaded.

A repair seldom needs either. What it breaks beside the bug, no test and no hidden input may see; and what runs while a
module is loaded would count as code that ran. Documentation, annotations and layout do not count, nor does what is
moved to another file.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from selfplay.oracle.rewriting.python_trees import Function, is_text, parsed

MOST_SHOWN = 60
"""Characters of a statement that are shown."""


@dataclass
class _Defined:
    """What a file defines. `functions`: path of names -> its definitions, as text; `others`: (function or class around
    it, the statement as text) of each statement outside of functions; `bound`: (around it, name) of what is defined."""

    functions: dict[str, list[str]] = field(default_factory=dict)
    others: Counter[tuple[str, str]] = field(default_factory=Counter)
    bound: set[tuple[str, str]] = field(default_factory=set)
    nodes: dict[tuple[str, str], ast.stmt] = field(default_factory=dict)


def beyond(before: Mapping[str, str], after: Mapping[str, str], repaired: Mapping[str, str]) -> list[str]:
    """What a patch does beyond the bug, as sentences. All are path -> text: the buggy program, the patch's, the
    original. Raises `RecursionError` and `ValueError` for trees that cannot be written."""
    made = {path: _defined(text) for path, text in after.items()}
    anywhere, found = sum((one.others for one in made.values()), Counter[tuple[str, str]]()), list[str]()
    for path in sorted(made):
        known = [_defined(texts[path]) for texts in (repaired, before) if texts.get(path)]
        if len(known) == 2:
            found += [f"{path}: {said}" for said in _beyond(known, made[path], [*made.values()], anywhere)]
        elif not known:
            found += [f"{path}: {said}" for said in _loading(made[path], {*made[path].others})]
    return found


def _beyond(
    known: Sequence[_Defined], now: _Defined, every: Sequence[_Defined], anywhere: Counter[tuple[str, str]]
) -> Iterator[str]:
    """`every`: what all files of the patch define; `anywhere`: their statements outside of functions."""
    original, buggy = known
    for name, defined in original.functions.items():
        if buggy.functions.get(name) != defined or now.functions.get(name) == defined:
            continue
        if name in now.functions:
            yield f"`{name}` is changed, which the bug left as it was"
        elif not any(one.functions.get(name) == defined for one in every):
            yield f"`{name}` is gone, which the bug left as it was"
    for around, text in original.others & buggy.others:
        if not anywhere[around, text]:
            yield f"`{_short(text)}` is gone, which the bug left as it was"
    new = {*(now.others - (original.others | buggy.others))}
    for around, text in sorted(new):
        names = _names(now.nodes[around, text])
        if not names or any((around, name) in original.bound for name in names):
            yield f"`{_short(text)}` stands outside of functions"
    yield from _loading(now, new)


def _loading(parts: _Defined, new: set[tuple[str, str]]) -> Iterator[str]:
    """New statements outside of functions that call what the file defines."""
    own = {name for _, name in parts.bound}
    for around, text in sorted(new):
        called = [node.func for node in ast.walk(parts.nodes[around, text]) if isinstance(node, ast.Call)]
        if any(isinstance(one, ast.Name) and one.id in own for func in called for one in ast.walk(func)):
            yield f"`{_short(text)}` calls its own code while the module is loaded"


def _defined(text: str) -> _Defined:
    tree, found = parsed(text), _Defined()
    if tree is not None:
        _collect(tree.body, "", found)
    return found


def _collect(body: Sequence[ast.stmt], around: str, found: _Defined) -> None:
    for node in body:
        if isinstance(node, Function):
            name = f"{around}{node.name}"
            found.functions.setdefault(name, []).append(ast.dump(_plain(node)))
            found.bound.add((around, node.name))
        elif isinstance(node, ast.ClassDef):
            found.bound.add((around, node.name))
            _collect(node.body, f"{around}{node.name}.", found)
        elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Pass) and not is_text(node):
            text = ast.unparse(node)
            found.others[around, text] += 1
            found.nodes[around, text] = node
            found.bound |= {(around, name) for name in _names(node)}


def _names(node: ast.stmt) -> list[str]:
    """The variables that an assignment binds; none for any other statement, or if it also changes something else."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [one.id for one in targets if isinstance(one, ast.Name)]
    return names if len(names) == len(targets) else []


def _plain(function: Function) -> Function:
    """The function without documentation and annotations, which are taken out of its tree."""
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, Function):
            node.returns = None
            node.body = [one for one in node.body if not is_text(one)] or [ast.Pass()]
    return function


def _short(text: str) -> str:
    return " ".join(text.split())[:MOST_SHOWN]
