"""What a file of Python defines, as `patch_scope.py` compares it."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from selfplay.oracle.rewriting.inert import own_names, taken_names
from selfplay.oracle.rewriting.python_trees import Function, is_text, parsed


@dataclass
class Definitions:
    """What a file defines. `functions`: path of names -> its definitions, as text; `signatures`: the same -> what a
    caller may give; `classes`: the same -> bases and decorators; `others`: (function or class around it, the statement
    as text) of each statement outside of functions; `bound`: (around it, name) of what is defined; `heads`,
    `decorators`: text -> what runs where a function or class is defined; `own`, `taken`: of `own_names` and
    `taken_names`; `offered`: what a package's first file imports for others; `imports`: name -> what is imported under
    it; `hints`: (function, argument) -> annotations; `arguments`: path of names -> arguments of its definitions;
    `used`: the names that are read."""

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
    arguments: dict[str, list[ast.arguments]] = field(default_factory=dict)
    used: frozenset[str] = frozenset()


def definitions_of(path: str, text: str) -> Definitions:
    """What a file defines; nothing if it cannot be parsed. Raises `RecursionError`, and `ValueError` for a tree that
    cannot be written."""
    tree, found = parsed(text), Definitions()
    if tree is not None:
        found.own, found.taken = own_names(tree), taken_names(tree)
        read = (one for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))
        found.used = frozenset(one.id for one in read)
        if path.endswith("__init__.py"):
            imports = (one for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) for one in node.names)
            found.offered = frozenset(one.asname or one.name.partition(".")[0] for one in imports)
        _collect(tree.body, "", found)
    return found


def _collect(body: Sequence[ast.stmt], around: str, found: Definitions) -> None:
    for node in body:
        if isinstance(node, Function):
            name = f"{around}{node.name}"
            _note_heads(node, found)
            _note_hints(name, node, found)
            found.functions.setdefault(name, []).append(ast.dump(_plain(node)))
            found.arguments.setdefault(name, []).append(node.args)
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
            found.bound |= {(around, name) for name in assigned(node)}


def _note_heads(node: Function | ast.ClassDef, found: Definitions) -> None:
    """Note what is evaluated where a function or class is defined."""
    found.decorators |= {ast.unparse(one): one for one in node.decorator_list}
    found.heads |= {ast.unparse(one): one for one in _head(node)}


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """(a name, what is imported under it)"""
    module = f"{'.' * node.level}{node.module or ''} " if isinstance(node, ast.ImportFrom) else ""
    for one in node.names:
        yield one.asname or one.name.partition(".")[0], module + (one.name if module or one.asname else "")


def _note_hints(name: str, node: Function, found: Definitions) -> None:
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


def assigned_values(node: ast.stmt) -> list[ast.expr]:
    """What an assignment evaluates."""
    if isinstance(node, ast.AnnAssign):
        return [node.annotation, *([] if node.value is None else [node.value])]
    return [node.value] if isinstance(node, ast.Assign) else []


def assigned(node: ast.stmt) -> list[str]:
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
