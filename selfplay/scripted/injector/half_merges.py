"""Code of the past that the rest of today's program does not fit: a function that took other arguments, a method or an
attribute that is gone while somebody asks for it, a key that nobody sets any more.

Such a program fails wherever the line runs, with an error that any type checker names: no regression that a maintainer
would let pass. Only what fitted before and does not fit now is looked at, and only names that mean one thing in the
product: of two functions of one name nothing says here which is called.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from selfplay.python_source import shared_tree
from selfplay.scripted.edits.names import Function
from selfplay.scripted.injector.index import Index

COMMON = frozenset(
    name for kind in (str, bytes, list, dict, set, tuple, int, float, type, BaseException) for name in dir(kind)
)
"""Attributes of which nobody knows here whose they are."""


class Fit:
    """The product's files, and whether they still fit one of them that is changed. `trees`: the product's."""

    def __init__(self, trees: Mapping[str, ast.Module], index: Index) -> None:
        self._trees, self._index = trees, index
        self._files: dict[str, _FileUse] = {}

    def misfit(self, path: str, merged: str) -> str:
        """What fitted the file at `path`, one of the product's, and does not fit its `merged` text, in a few words;
        empty if all does. Raises what `shared_tree` raises."""
        return next(self._misfits(path, self._file(path), _FileUse(shared_tree(merged))), "")

    def _misfits(self, path: str, was: "_FileUse", now: "_FileUse") -> Iterator[str]:
        for name, function in was.functions.items():
            other = now.functions.get(name)
            if other and len(was.defined[name]) == 1 and ast.dump(other.args) != ast.dump(function.args):
                others = self._others(path, name)
                calls = [call for one in (now, *others) for call in one.calls[name]]
                alone = not any(name in one.defined for one in others)
                if alone and any(_takes(function, call) and not _takes(other, call) for call in calls):
                    yield f"{name}() does not take what it is given"
        for name in sorted((was.attributes - now.attributes) - COMMON):
            others = self._others(path, name)
            if not any(name in one.attributes for one in others) and any(name in one.asked for one in (now, *others)):
                yield f"nothing has .{name} any more"
        for key in sorted(was.keys - now.keys):
            others = self._others(path, key)
            if not any(key in one.keys for one in others) and any(key in one.read_keys for one in (now, *others)):
                yield f"nothing sets [{key!r}] any more"

    def _others(self, path: str, name: str) -> "list[_FileUse]":
        """The other files of the product in which a name stands."""
        return [
            self._file(one)
            for one in sorted(self._index.files_naming.get(name, ()))
            if one != path and one in self._trees
        ]

    def _file(self, path: str) -> "_FileUse":
        if path not in self._files:
            self._files[path] = _FileUse(self._trees[path])
        return self._files[path]


class _FileUse:
    """What a file defines, and what it asks for. `defined`: name -> what has it; `functions`: the last of each name;
    `attributes`: names that modules, classes and objects have; `keys`: texts under which something is put."""

    def __init__(self, tree: ast.Module) -> None:
        self.defined, self.calls = defaultdict[str, list[ast.AST]](list), defaultdict[str, list[ast.Call]](list)
        self.functions: dict[str, Callee] = {}
        self.attributes, self.keys = set[str](), set[str]()
        self.asked, self.read_keys = set[str](), set[str]()
        waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
        while waiting:
            node, held = waiting.pop()
            self._note(node, held)
            holds = isinstance(node, ast.ClassDef | ast.Module)
            waiting += ((inner, holds) for inner in ast.iter_child_nodes(node))

    def _note(self, node: ast.AST, held: bool) -> None:
        for name in _defined(node):
            self.defined[name].append(node)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.functions[node.name] = Callee(node)
                self.attributes |= {node.name} if held else set()
            case ast.ClassDef(name=name) if held:
                self.attributes.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if held:
                self.attributes.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                self.attributes.add(name)
            case ast.Attribute(attr=name):
                self.asked.add(name)
            case ast.keyword(arg=str(name)):
                self.keys.add(name)
            case ast.Dict(keys=keys):
                self.keys |= {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
            case ast.Subscript(slice=ast.Constant(value=str(key)), ctx=context):
                (self.read_keys if isinstance(context, ast.Load) else self.keys).add(key)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                self.calls[name].append(node)


def _defined(node: ast.AST) -> Iterator[str]:
    """What may be called by its name; what is imported is defined elsewhere."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name


class Callee:
    """What a call of a function binds. A function that something decorates may take anything."""

    def __init__(self, function: Function) -> None:
        self.args = function.args
        self._plain = {one.id for one in function.decorator_list if isinstance(one, ast.Name)}
        self.known = len(self._plain & {"staticmethod", "classmethod"}) == len(function.decorator_list)
        first = next(iter((*function.args.posonlyargs, *function.args.args)), None)
        self.bound = first is not None and first.arg in ("self", "cls", "mcs")

    @cached_property
    def places(self) -> list[str]:
        return [one.arg for one in (*self.args.posonlyargs, *self.args.args)]


def _takes(callee: Callee, call: ast.Call) -> bool:
    """Whether a function may take these arguments. Stars may hold anything, and a method is called bound or not."""
    starred = any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
    if starred or not callee.known:
        return True
    named = {one.arg for one in call.keywords if one.arg}
    return any(_binds(callee, len(call.args) + own, named) for own in ((1, 0) if callee.bound else (0,)))


def _binds(callee: Callee, given: int, named: set[str]) -> bool:
    args, places = callee.args, callee.places
    if given > len(places) and args.vararg is None:
        return False
    free = {*places[max(given, len(args.posonlyargs)) :], *(one.arg for one in args.kwonlyargs)}
    if args.kwarg is None and not named <= free:
        return False
    needed = {*places[given : len(places) - len(args.defaults)]}
    needed |= {one.arg for one, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None}
    return needed <= named
