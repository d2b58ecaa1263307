"""Finds what a patch does beyond the bug: it changes or removes a function, a class, a signature or a statement that
the bug left as it was, or newly runs code while a module is loaded.

A repair seldom needs either. What it breaks beside the bug, no test and no hidden input may see; and what runs while a
module is loaded would count as code that ran. So all that newly runs then must be inert (`inert.py`), wherever it
stands: statements, defaults, annotations, decorators, bases. Documentation, new annotations and layout do not count,
nor does what is moved to another file.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from selfplay.oracle.rewriting.inert import inert, own_names, taken_names, wrapper
from selfplay.oracle.rewriting.python_trees import Function, is_text, parsed

Key = TypeVar("Key")
Value = TypeVar("Value")
MOST_SHOWN = 60
"""Characters of a statement that are shown."""


@dataclass
class _Defined:
    """What a file defines. `functions`: path of names -> its definitions, as text; `signatures`: the same -> what a
    caller may give; `classes`: the same -> bases and decorators; `others`: (function or class around it, the statement
    as text) of each statement outside of functions; `bound`: (around it, name) of what is defined; `heads`,
    `decorators`: text -> what runs where a function or class is defined; `own`, `taken`: of `own_names` and
    `taken_names`; `offered`: what a package's first file imports for others; `imports`: name -> what is imported under
    it; `hints`: (function, argument) -> annotations."""

    offered: frozenset[str] = frozenset()
    functions: dict[str, list[str]] = field(default_factory=dict)
    signatures: dict[str, list[str]] = field(default_factory=dict)
    classes: dict[str, list[str]] = field(default_factory=dict)
    heads: dict[str, ast.expr] = field(default_factory=dict)
    decorators: dict[str, ast.expr] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()
    others: Counter[tuple[str, str]] = field(default_factory=Counter)
    bound: set[tuple[str, str]] = field(default_factory=set)
    nodes: dict[tuple[str, str], ast.stmt] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    hints: dict[tuple[str, str], list[str]] = field(default_factory=dict)


def beyond(before: Mapping[str, str], after: Mapping[str, str], repaired: Mapping[str, str]) -> list[str]:
    """What a patch does beyond the bug, as sentences. All are path -> text: the buggy program, the patch's, the
    original. Raises `RecursionError` and `ValueError` for trees that cannot be written."""
    made = {path: _defined(path, text) for path, text in after.items()}
    anywhere, found = sum((one.others for one in made.values()), Counter[tuple[str, str]]()), list[str]()
    for path in sorted(made):
        known = [_defined(path, texts[path]) for texts in (repaired, before) if texts.get(path)]
        if len(known) == 2:
            found += [f"{path}: {said}" for said in _beyond(known, made[path], [*made.values()], anywhere)]
        else:
            new = made[path].others - sum((one.others for one in known), Counter[tuple[str, str]]())
            found += [f"{path}: {said}" for said in _loading(known, made[path], {*new})]
    return found


def _beyond(
    known: Sequence[_Defined], now: _Defined, every: Sequence[_Defined], anywhere: Counter[tuple[str, str]]
) -> Iterator[str]:
    """`every`: what all files of the patch define; `anywhere`: their statements outside of functions."""
    original, buggy = known
    renamed = {name for _, name in original.bound ^ buggy.bound}
    for name in _changed_alone(original.signatures, buggy.signatures, now.signatures):
        yield f"the signature of `{name}` is changed, which the bug left as it was"
    for name, defined in original.functions.items():
        if buggy.functions.get(name) != defined or now.functions.get(name) == defined:
            continue
        if name in now.functions:
            if not _uses(defined, renamed):
                yield f"`{name}` is changed, which the bug left as it was"
        elif not any(one.functions.get(name) == defined for one in every):
            yield f"`{name}` is gone, which the bug left as it was"
    for name in _changed_alone(original.classes, buggy.classes, now.classes):
        yield f"the bases or decorators of `{name}` are changed, which the bug left as they were"
    yield from _hidden(original, buggy, now)
    for name in sorted(now.own & original.taken - original.own - buggy.own):
        yield f"`{name}` is bound anew, which the file takes from elsewhere"
    for around, text in original.others & buggy.others:
        if not anywhere[around, text]:
            yield f"`{_short(text)}` is gone, which the bug left as it was"
    for name in sorted((original.offered & buggy.offered) - now.offered - {name for _, name in now.bound}):
        yield f"`{name}` is no longer offered, which the bug left as it was"
    new = {*(now.others - (original.others | buggy.others))}
    for around, text in sorted(new):
        names = _names(now.nodes[around, text])
        if any((around, name) in original.bound for name in names):
            yield f"`{_short(text)}` stands outside of functions"
        elif around.removesuffix(".") in original.classes:
            yield f"`{_short(text)}` is new in a class that was there, and may hide what the class inherits"
    yield from _loading(known, now, new)


def _hidden(original: _Defined, buggy: _Defined, now: _Defined) -> Iterator[str]:
    """What other code meets without naming it: a method that the language calls, an annotation, another module under a
    name that was there."""
    for name in sorted(now.functions.keys() - original.functions.keys() - buggy.functions.keys()):
        around, _, last = name.rpartition(".")
        if last.startswith("__") and last.endswith("__") and (not around or around in original.classes):
            yield f"`{name}` is new, and the language calls it"
    for name, argument in _changed_alone(original.hints, buggy.hints, now.hints):
        if original.functions[name] == buggy.functions.get(name):
            said = f"the annotation of `{argument}`" if argument else "that of what is returned"
            yield f"{said} is changed in `{name}`, which the bug left as it was"
    for name in _changed_alone(original.imports, buggy.imports, now.imports):
        yield f"`{name}` is imported from elsewhere, which the bug left as it was"


def _changed_alone(original: Mapping[Key, Value], buggy: Mapping[Key, Value], now: Mapping[Key, Value]) -> list[Key]:
    """What the bug left as it was, and the patch has otherwise; not what it has no more."""
    return [key for key, value in original.items() if buggy.get(key) == value != now.get(key, value)]


def _uses(defined: Sequence[str], names: set[str]) -> bool:
    """Whether a function uses one of these names, which the bug took away or brought: so it is of the bug, too."""
    return any(f"'{name}'" in text for text in defined for name in names)


def _loading(known: Sequence[_Defined], now: _Defined, new: set[tuple[str, str]]) -> Iterator[str]:
    """What newly runs while the file is loaded, and does more than hold values under new names."""
    for around, text in sorted(new):
        node = now.nodes[around, text]
        if not _names(node):
            yield f"`{_short(text)}` stands outside of functions"
        elif not all(inert(one, now.own) for one in _values(node)):
            yield f"`{_short(text)}` runs code while the module is loaded"
    for kind, harmless in (("heads", inert), ("decorators", wrapper)):
        had = {text for one in known for text in getattr(one, kind)}
        for text, expression in getattr(now, kind).items():
            if text not in had and not harmless(expression, now.own):
                yield f"`{_short(text)}` runs code while the module is loaded"


def _defined(path: str, text: str) -> _Defined:
    tree, found = parsed(text), _Defined()
    if tree is not None:
        found.own, found.taken = own_names(tree), taken_names(tree)
        if path.endswith("__init__.py"):
            imports = (one for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) for one in node.names)
            found.offered = frozenset(one.asname or one.name.partition(".")[0] for one in imports)
        _collect(tree.body, "", found)
    return found


def _collect(body: Sequence[ast.stmt], around: str, found: _Defined) -> None:
    for node in body:
        if isinstance(node, Function):
            name = f"{around}{node.name}"
            _note_heads(node, found)
            _note_hints(name, node, found)
            found.functions.setdefault(name, []).append(ast.dump(_plain(node)))
            found.signatures.setdefault(name, []).append(f"{type(node).__name__} {ast.dump(node.args)}")
            found.bound.add((around, node.name))
        elif isinstance(node, ast.ClassDef):
            found.bound.add((around, node.name))
            _note_heads(node, found)
            heads = [*node.decorator_list, *node.bases, *node.keywords]
            found.classes.setdefault(f"{around}{node.name}", []).append(" ".join(map(ast.dump, heads)))
            _collect(node.body, f"{around}{node.name}.", found)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.imports |= dict(_imported(node))
        elif not isinstance(node, ast.Pass) and not is_text(node):
            text = ast.unparse(node)
            found.others[around, text] += 1
            found.nodes[around, text] = node
            found.bound |= {(around, name) for name in _names(node)}


def _note_heads(node: Function | ast.ClassDef, found: _Defined) -> None:
    """Note what is evaluated where a function or class is defined."""
    found.decorators |= {ast.unparse(one): one for one in node.decorator_list}
    found.heads |= {ast.unparse(one): one for one in _head(node)}


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """(a name, what is imported under it)"""
    module = f"{'.' * node.level}{node.module or ''} " if isinstance(node, ast.ImportFrom) else ""
    for one in node.names:
        yield one.asname or one.name.partition(".")[0], module + (one.name if module or one.asname else "")


def _note_hints(name: str, node: Function, found: _Defined) -> None:
    """Note the annotations of a function."""
    hints = {one.arg: one.annotation for one in ast.walk(node.args) if isinstance(one, ast.arg)} | {"": node.returns}
    for argument, hint in hints.items():
        if hint is not None:
            found.hints.setdefault((name, argument), []).append(ast.dump(hint))


def _head(node: Function | ast.ClassDef) -> list[ast.expr]:
    """Defaults and annotations of a function, bases and keywords of a class."""
    if isinstance(node, ast.ClassDef):
        return [*node.bases, *(one.value for one in node.keywords)]
    given, every = node.args, (node.args.vararg, node.args.kwarg)
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *(one for one in every if one is not None)]
    found = [*given.defaults, *given.kw_defaults, *(one.annotation for one in named), node.returns]
    return [one for one in found if one is not None]


def _values(node: ast.stmt) -> list[ast.expr]:
    """What an assignment evaluates."""
    if isinstance(node, ast.AnnAssign):
        return [node.annotation, *([] if node.value is None else [node.value])]
    return [node.value] if isinstance(node, ast.Assign) else []


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
