"""Every regular expression of the package, found in its syntax trees: nothing is imported, nothing can be forgotten.

A pattern is the first argument of a function of `re`. Constants are followed through the file, through imports and
through the other parts of a program of `inside/`; a part that is known only when the program runs counts as `RUN_TIME`.
Programs that stand in a string are read too.
"""

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDERS = ("selfplay", "validators")
RUN_TIME = "ab"
"""What stands for a word that is known at run time only: nearly always an escaped name."""
WHOLE = ("match", "fullmatch")
METHODS = (*WHOLE, "search", "sub", "subn", "split", "findall", "finditer")
FLAGS_AT = {"sub": 4, "subn": 4, "split": 3, "compile": 1}
SAFE = {"compile", "join", "encode", "decode", "escape", "split", "map", "tuple", "sorted", "replace", "format", "keys"}
"""The calls that a constant may be made with."""


class AtRunTime(Exception):
    """The value is not known before the program runs."""


@dataclass(frozen=True)
class Found:
    """A pattern, and the modes in which it is used: `match`, `fullmatch` or `search`."""

    place: str
    source: str | bytes
    flags: int
    modes: tuple[str, ...]


@dataclass(frozen=True)
class Unknown:
    """A pattern that is known at run time only."""

    place: str
    expression: str


@cache
def texts() -> dict[str, str]:
    """The package's modules and programs by their path."""
    paths = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


@cache
def nodes(name: str) -> tuple[ast.AST, ...]:
    """The syntax tree of a file and, as its last part, those of the programs that stand in its strings."""
    own = tuple(ast.walk(ast.parse(texts()[name])))
    strings = [node.value for node in own if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return own + tuple(node for text in strings if "re." in text and "import" in text for node in _program(text))


def _program(text: str) -> Iterator[ast.AST]:
    with suppress(SyntaxError, ValueError):
        yield from ast.walk(ast.parse(text))


@cache
def constants(name: str) -> dict[str, ast.expr]:
    """What each name of a file is assigned, if it is assigned once."""
    assigned: dict[str, list[ast.expr]] = defaultdict(list)
    for node in nodes(name):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if targets and isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            for target in targets:
                if isinstance(target, ast.Name):
                    assigned[target.id].append(node.value)
    return {key: values[0] for key, values in assigned.items() if len(values) == 1}


@cache
def imports(name: str) -> dict[str, tuple[str, str]]:
    """The names that a file imports from the package: the file each is from, and its name there."""
    found = {}
    for node in nodes(name):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names:
                for path in (f"{node.module.replace('.', '/')}.py", f"{node.module.replace('.', '/')}/__init__.py"):
                    if path in texts():
                        found[alias.asname or alias.name] = (path, alias.name)
    return found


@cache
def known(name: str, wanted: str) -> Any:
    """The value of a constant, wherever it is from."""
    if wanted in constants(name):
        return value(name, constants(name)[wanted])
    if wanted in imports(name):
        return known(*imports(name)[wanted])
    if "/inside/" in name:  # its files are parts of one program
        folder = name.rpartition("/")[0]
        for other in texts():
            if other.startswith(f"{folder}/") and wanted in texts()[other] and wanted in constants(other):
                return value(other, constants(other)[wanted])
    raise AtRunTime(wanted)


def value(name: str, node: ast.expr) -> Any:
    """What an expression of a file is worth, made of constants and of the calls in `SAFE` only."""
    own = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    for part in ast.walk(node):
        function = part.func if isinstance(part, ast.Call) else None
        if function and getattr(function, "attr", getattr(function, "id", "")) not in SAFE:
            raise AtRunTime(ast.unparse(node))
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} - own - {"re", "_re"} - {*dir(builtins)}
    scope = {"re": re, "_re": re} | {part: known(name, part) for part in names}
    try:
        return eval(compile(ast.fix_missing_locations(ast.Expression(node)), name, "eval"), scope)
    except Exception as error:
        raise AtRunTime(ast.unparse(node)) from error


class _RunTimeParts(ast.NodeTransformer):
    """Puts `RUN_TIME` where a part of an f-string or an escaped name is known at run time only."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _kept(self, node: ast.expr, inner: ast.expr) -> ast.expr:
        try:
            value(self.name, inner)
        except AtRunTime:
            return ast.Constant(RUN_TIME)
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        return self._kept(node, node.value)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        escaped = isinstance(node.func, ast.Attribute) and node.func.attr == "escape"
        return self._kept(node, node) if escaped else node


def found() -> Iterator[Found | Unknown]:
    for name, text in texts().items():
        if not re.search(r"\bre\b", text):
            continue
        aliases = {
            a.asname or a.name for n in nodes(name) if isinstance(n, ast.Import) for a in n.names if a.name == "re"
        }
        parents = {child: node for node in nodes(name) for child in ast.iter_child_nodes(node)} if aliases else {}
        for call in nodes(name) if aliases else ():
            function = call.func if isinstance(call, ast.Call) else None
            if not isinstance(function, ast.Attribute) or getattr(function.value, "id", "") not in aliases:
                continue
            if function.attr in METHODS or function.attr == "compile":
                yield _found(name, call, function.attr, parents)  # type: ignore[arg-type]
        if any(isinstance(node, ast.ImportFrom) and node.module == "re" for node in nodes(name)):
            yield Unknown(name, "from re import")


def _found(name: str, call: ast.Call, method: str, parents: dict[ast.AST, ast.AST]) -> Found | Unknown:
    words = {keyword.arg: keyword.value for keyword in call.keywords}
    pattern = call.args[0] if call.args else words["pattern"]
    place = f"{name}:{_named(call, parents)}"
    at = FLAGS_AT.get(method, 2)
    flags = call.args[at] if len(call.args) > at else words.get("flags")
    try:
        source = value(name, _RunTimeParts(name).visit(pattern))
        number = int(value(name, flags)) if flags else 0
    except AtRunTime:
        return Unknown(place, ast.unparse(pattern))
    if isinstance(source, re.Pattern):
        source, number = source.pattern, source.flags
    uses = _uses(name, call, parents) if method == "compile" else {method}
    modes = {method if method in WHOLE else "search" for method in uses}
    return Found(place, source, number, tuple(sorted(modes)))


def _named(call: ast.Call, parents: dict[ast.AST, ast.AST]) -> str:
    """The constant or the function that a pattern stands in."""
    node: ast.AST | None = call
    while node := parents.get(node):  # type: ignore[arg-type]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return node.name
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(parents[node], ast.Module):
            return ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    return ""


def _uses(name: str, call: ast.Call, parents: dict[ast.AST, ast.AST]) -> set[str]:
    """The methods that are called on a compiled pattern; all of them where it is passed on."""
    parent = parents[call]
    if isinstance(parent, ast.Attribute):
        return {parent.attr}
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return {*METHODS}
    constant, uses = parent.targets[0].id, set[str]()
    for other in texts():
        if constant in texts()[other] and (other == name or constant not in constants(other)):
            uses |= _methods(other, constant)
    return uses or {*METHODS}


@cache
def _loads(name: str) -> dict[str, set[str]]:
    """For each name that a file reads, the methods of patterns that it calls on it."""
    loads: dict[str, set[str]] = defaultdict(set)
    below = set()
    for node in nodes(name):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            below.add(node.value)
            read = node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id
            loads[read] |= {node.attr} & {*METHODS}
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and node not in below:
            loads[node.attr if isinstance(node, ast.Attribute) else node.id] |= {*METHODS}
    return loads


def _methods(name: str, constant: str) -> set[str]:
    return _loads(name).get(constant, set())
