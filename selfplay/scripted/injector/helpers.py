"""Removal of whole definitions: a helper whose callers are adapted, and a method that overrides another.

Only within one file. Taking a helper or a module away from several files and adapting them all can never pass the
inverse mutation check (SSR section 3, check 7): with one file restored alone, the others still do without it.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from selfplay.scripted.edits.cuts import Cut, first_line, with_comments
from selfplay.scripted.edits.names import Function


def override_cuts(
    path: str, function: Function, trees: Mapping[str, ast.Module], lines: Sequence[str]
) -> Iterator[Cut]:
    """The method goes, and what it overrode answers: when a base class named in the file or elsewhere has it too."""
    owner = next((c for c in _classes(trees[path]) if function in c.body), None)
    if owner is None or len(owner.body) == 1 or function.name == "__init__":
        return
    bases = {ast.unparse(base).split(".")[-1] for base in owner.bases}
    named = [c for tree in trees.values() for c in _classes(tree) if c.name in bases and c is not owner]
    if any(isinstance(s, ast.FunctionDef) and s.name == function.name for c in named for s in c.body):
        start, end = _extent(function, lines)
        yield Cut(start, end, (), f"removed the overriding {owner.name}.{function.name}()")


def helper_cuts(
    path: str, function: Function, texts: Mapping[str, str], tree: ast.Module, lines: Sequence[str]
) -> list[Cut]:
    """The helper goes and each call of it becomes its first argument; nothing when it is used in any other way."""
    if function not in tree.body or function.decorator_list:
        return []
    word = re.compile(rf"\b{re.escape(function.name)}\b")
    if any(word.search(text) for other, text in texts.items() if other != path):
        return []
    own = {id(node) for node in ast.walk(function)}
    outside = [node for node in ast.walk(tree) if id(node) not in own]
    calls = [
        n for n in outside if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == function.name
    ]
    start, end = _extent(function, lines)
    mentions = sum(len(word.findall(line)) for n, line in enumerate(lines, 1) if not start <= n <= end)
    if not calls or mentions != len(calls):
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
    while end < len(lines) and not lines[end].strip():
        end += 1
    return with_comments(lines, first), end


def _classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]
