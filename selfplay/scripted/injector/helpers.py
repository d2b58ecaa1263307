"""Removal of whole definitions: a helper whose callers are adapted, and a method that overrides another.

Only within one file. Removing a helper or a module from several files and adapting all of them can never pass the
inverse mutation check (SSR section 3, check 7): with one file restored alone, the others still do without it.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from selfplay.scripted.edits.cuts import Cut, first_line, with_comments, without_gap
from selfplay.scripted.edits.names import Function
from selfplay.scripted.injector.index import Index


def override_cuts(function: Function, index: Index, lines: Sequence[str]) -> Iterator[Cut]:
    """Remove a method so that the overridden one is used: possible if a base class, in this file or another, has it
    too, and answers if the method does: one that only refuses was there to be overridden."""
    owner = index.owners.get(id(function))
    if owner is None or len(owner.body) == 1 or function.name == "__init__":
        return
    bases = {ast.unparse(base).split(".")[-1] for base in owner.bases}
    named = [c for base in sorted(bases) for c in index.classes.get(base, ()) if c is not owner]
    below = [s for c in named for s in c.body if isinstance(s, ast.FunctionDef) and s.name == function.name]
    if below and not any(map(_refuses, below)) and (not _answers(function) or all(map(_answers, below))):
        start, end = _extent(function, lines)
        yield Cut(start, end, (), f"removed the overriding {owner.name}.{function.name}()")


def _refuses(function: ast.FunctionDef) -> bool:
    return isinstance(function.body[-1], ast.Raise)


def _answers(function: ast.AST) -> bool:
    """Whether it returns or gives out a value anywhere."""
    every = ast.walk(function)
    return any(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and node.value is not None for node in every)


def helper_cuts(path: str, function: Function, index: Index, lines: Sequence[str]) -> list[Cut]:
    """Remove the helper, and replace each call by its first argument; empty when it is used in any other way."""
    if id(function) not in index.at_top or function.decorator_list:
        return []
    if index.files_naming.get(function.name) != {path}:
        return []
    own = range(function.lineno, (function.end_lineno or 0) + 1)
    calls = [call for call in index.calls[path].get(function.name, ()) if call.lineno not in own]
    start, end = _extent(function, lines)
    inside = sum(len(re.findall(rf"\b{re.escape(function.name)}\b", line)) for line in lines[start - 1 : end])
    if not calls or index.words[path][function.name] - inside != len(calls):
        return []
    replaced = [_first_argument(call, lines) for call in calls]
    spans = [(cut.start, cut.end) for cut in replaced if cut]
    if len(spans) != len(calls) or any(a[1] >= b[0] for a, b in zip(sorted(spans), sorted(spans)[1:], strict=False)):
        return []
    removed = Cut(start, end, (), f"removed the helper {function.name}() and its calls")
    return [removed, *(cut for cut in replaced if cut)]


def _first_argument(call: ast.Call, lines: Sequence[str]) -> Cut | None:
    if not call.args or isinstance(call.args[0], ast.Starred):
        return None
    first, last = lines[call.lineno - 1].encode(), lines[(call.end_lineno or 0) - 1].rstrip("\n").encode()
    argument = ast.unparse(call.args[0])
    if not isinstance(call.args[0], ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Constant):
        argument = f"({argument})"
    line = first[: call.col_offset].decode() + argument + last[call.end_col_offset or 0 :].decode()
    return Cut(call.lineno, call.end_lineno or 0, (line,), "")


def _extent(function: Function, lines: Sequence[str]) -> tuple[int, int]:
    """The lines of a definition with its decorators, its comments and the blank lines after it."""
    first = first_line(function)
    end = function.end_lineno or function.lineno
    return without_gap(lines, with_comments(lines, first), end)
