"""Which values in a file come from what is written there, as `"/X".lower()` does, and not from anything that its
functions are given: what a program asks of such a place, it asks of the machine."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

_SIGNS = frozenset({"sep", "altsep", "extsep", "curdir", "pardir"})
"""Constants of `os` of which paths are made."""


class WrittenNames:
    """The names of a file, given as the nodes of its syntax tree, that have such values. Scopes are not told apart: a
    name counts if it has one everywhere, and is no argument. Takes time in proportion to the file."""

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        bound, valued, users = Counter[str](), Counter[str](), defaultdict[str, set[str]](set)
        self._texts, given, imported = defaultdict[str, list[ast.expr]](list), set[str](), set[str]()
        for node in nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound[node.id] += 1
            elif isinstance(node, ast.arg):
                given.add(node.arg)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                imported |= {one.asname or one.name.partition(".")[0] for one in node.names}
            for names, value in _assigned(node):
                valued.update(names)
                for name in names:
                    self._texts[name].append(value)
                users[f"value {id(value)}"].update(names)
                for used in _values_in(value):
                    users[used].add(f"value {id(value)}")
        whole = {name for name in valued if bound[name] in (0, valued[name])} - given
        owners = {f"{name}." for name in whole | imported - given}
        for name in valued:
            users[name].add(f"{name}.")
        self._known = whole | owners | {name for name in users if name.startswith("value ")}
        left = [name for name in users if name not in self._known]
        while left:
            lost = users[left.pop()] & self._known
            self._known -= lost
            left += lost

    def text_of(self, value: ast.expr) -> str | None:
        """The text that a value is, written as it is here or where its one name gets it; None for any other."""
        if isinstance(value, ast.Name) and value.id in self._known and len(self._texts[value.id]) == 1:
            value = self._texts[value.id][0]
        return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None

    def is_made_of_these(self, value: ast.expr) -> bool:
        """Whether this value is made of what is written alone, of texts or numbers at that."""
        names = [*_values_in(value)]
        some = bool(names) or any(isinstance(one, ast.Constant) for one in ast.walk(value))
        return some and all(name in self._known for name in names)


def _assigned(node: ast.AST) -> Iterator[tuple[list[str], ast.expr]]:
    """The names that get a value of their own here, with it: those of an assignment, and a function without arguments
    that only returns."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield [one.id for one in targets if isinstance(one, ast.Name)], node.value
    elif isinstance(node, ast.FunctionDef) and len(node.body) == 1 and not ast.unparse(node.args):
        only = node.body[0]
        if isinstance(only, ast.Return) and only.value is not None:
            yield [node.name], only.value


def _values_in(value: ast.expr) -> Iterator[str]:
    """The names whose values it takes, those of called functions of the file too; not a function that it gives
    something to, nor the signs of paths. `NAME.`: whose method it gives something to; a module's functions have no
    value of their own."""
    left: list[ast.AST] = [value]
    while left:
        node = left.pop()
        if isinstance(node, ast.Attribute) and node.attr in _SIGNS and not isinstance(node.value, ast.Call):
            continue
        if isinstance(node, ast.Call) and (given := [*node.args, *(one.value for one in node.keywords)]):
            left += given
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            if isinstance(owner, ast.Name):
                yield f"{owner.id}."
            elif owner is not None:
                left.append(owner)
            continue
        if isinstance(node, ast.Name):
            yield node.id
        left += ast.iter_child_nodes(node)
