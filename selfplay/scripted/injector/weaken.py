"""Hiding the bug (SSR section 2, `test_weaken.diff`): remove what would catch it and leave the other tests unchanged.

Four methods, per failing test function: remove it; remove its failing cases (parameters); remove its assertions from
the failing one on; loosen the failing assertion. If a method does not fit a test, the test is removed. A removed test
is certainly hidden; after the other methods the tests are run again.
"""

import ast
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from selfplay.plain import syntax_tree
from selfplay.scripted.edits.cuts import Change, Cut, change, first_line, indent_of, split_lines, with_comments
from selfplay.scripted.edits.names import Function

Method = Literal["remove", "cases", "assertions", "loosen"]
BLOCKS = ("body", "orelse", "finalbody")
METHODS: tuple[Method, ...] = ("remove", "cases", "assertions", "loosen")
CERTAIN: frozenset[Method] = frozenset({"remove", "cases"})
"""The methods after which the failing ids are certainly gone, so that no run is needed."""


@dataclass(frozen=True)
class Failure:
    """One failing test: where it is defined, which line of its file failed, and for each of its parameters (including
    those of its class and its fixtures) the index of the value it ran with."""

    id: str
    path: str
    line: int
    name: str
    crash: int | None = None
    indices: Mapping[str, int] = field(default_factory=dict)


def choose_methods(failures: Sequence[Failure], rng: random.Random) -> dict[tuple[str, int], Method]:
    """A method for each failing test function, keyed by (path, line)."""
    places = dict.fromkeys((failure.path, failure.line) for failure in failures)
    return {place: rng.choices(METHODS, weights=(4, 4, 1, 1))[0] for place in places}


def weaken(
    texts: Mapping[str, str], failures: Sequence[Failure], methods: Mapping[tuple[str, int], Method]
) -> list[Change] | None:
    """The changes of test files that hide `failures`; None when a failing test cannot be found in its file."""
    changes = []
    for path in dict.fromkeys(failure.path for failure in failures):
        if path not in texts:
            return None
        cuts = _file_cuts(texts[path], [f for f in failures if f.path == path], methods)
        made = change(path, texts[path], cuts) if cuts else None
        if made is None:
            return None
        changes.append(made)
    return changes


def _file_cuts(text: str, failures: Sequence[Failure], methods: Mapping[tuple[str, int], Method]) -> list[Cut] | None:
    tree, lines = syntax_tree(text), split_lines(text)
    found: dict[int, tuple[Function, list[Failure]]] = {}
    for failure in failures:
        function = _find(tree, failure)
        if function is None:
            return None
        found.setdefault(function.lineno, (function, []))[1].append(failure)
    cuts: list[Cut] = []
    removed: list[ast.stmt] = []
    for function, failing in found.values():
        place = (failing[0].path, failing[0].line)
        special = _special(methods.get(place, "remove"), function, failing, lines)
        if special:
            cuts.extend(special)
        else:
            removed.append(function)
    return [*cuts, *_removals(tree, removed, lines)]


def _find(tree: ast.Module, failure: Failure) -> Function | None:
    """The function behind a test id: by name and first line (on current Pythons that of its first decorator)."""
    for node in ast.walk(tree):
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == failure.name
        if named and first_line(node) <= failure.line <= (node.end_lineno or 0):  # type: ignore[arg-type,attr-defined]
            return node  # type: ignore[return-value]
    return None


def _special(method: Method, function: Function, failing: Sequence[Failure], lines: Sequence[str]) -> list[Cut]:
    match method:
        case "cases":
            return _case_cuts(function, failing, lines)
        case "assertions":
            return _assertion_cuts(function, failing, lines)
        case "loosen":
            return _loosened(function, failing, lines)
    return []


def _removals(tree: ast.Module, removed: Sequence[ast.stmt], lines: Sequence[str]) -> list[Cut]:
    """Remove whole functions with their comments; a class that loses everything keeps a `pass`."""
    cuts = []
    bodies = [(node, getattr(node, name, None)) for node in ast.walk(tree) for name in BLOCKS]
    for node, body in bodies:
        if not isinstance(body, list):
            continue
        gone = [statement for statement in body if statement in removed]
        for number, statement in enumerate(gone):
            start, end = with_comments(lines, first_line(statement)), statement.end_lineno or statement.lineno
            while end < len(lines) and not lines[end].strip() and start > 1 and not lines[start - 2].strip():
                end += 1
            emptied = len(gone) == len(body) and number == 0 and not isinstance(node, ast.Module)
            rest = (indent_of(lines[first_line(statement) - 1]) + "pass",) if emptied else ()
            cuts.append(Cut(start, end, rest, "removed a test"))
    return cuts


def _case_cuts(function: Function, failing: Sequence[Failure], lines: Sequence[str]) -> list[Cut]:
    """The failing cases of the one literal `parametrize` list, when each has lines of its own."""
    lists = [
        call.args[:2]
        for call in function.decorator_list
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("parametrize") and len(call.args) >= 2
    ]
    if len(lists) != 1 or not isinstance(lists[0][1], ast.List | ast.Tuple):
        return []
    names, cases = _argument_names(lists[0][0]), lists[0][1].elts
    if any(set(failure.indices) != names for failure in failing):
        return []  # there are other parameters too: one case of this list is several tests
    wanted = sorted({index for failure in failing for index in failure.indices.values()})
    if not wanted or len(wanted) == len(cases) or wanted[-1] >= len(cases):
        return []
    cuts = [Cut(cases[i].lineno, cases[i].end_lineno or 0, (), "removed a case") for i in wanted]
    return cuts if all(_stands_alone(cases[i], lines) for i in wanted) else []


def _argument_names(names: ast.expr) -> set[str]:
    """The parameter names given to `parametrize`: `"a, b"`, `["a", "b"]` or `("a", "b")`."""
    try:
        value = ast.literal_eval(names)
    except ValueError:
        return set()
    return {name.strip() for name in (value.split(",") if isinstance(value, str) else value)}


def _stands_alone(node: ast.expr, lines: Sequence[str]) -> bool:
    before = lines[node.lineno - 1].encode()[: node.col_offset].strip()
    after = lines[(node.end_lineno or 0) - 1].encode()[node.end_col_offset or 0 :].strip()
    return not before and after == b","


def _assertion_cuts(function: Function, failing: Sequence[Failure], lines: Sequence[str]) -> list[Cut]:
    """Every assertion from the first failing one on; at least one other statement stays."""
    crashes = [failure.crash for failure in failing]
    if any(crash is None for crash in crashes):
        return []
    first = min(crash for crash in crashes if crash is not None)
    cuts = []
    for node in ast.walk(function):
        for name in BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                cuts.extend(_block_assertions(block, first, lines))
    return cuts if any(cut.start <= first <= cut.end for cut in cuts) else []


def _block_assertions(block: Sequence[ast.stmt], first: int, lines: Sequence[str]) -> list[Cut]:
    gone = [s for s in block if _is_assertion(s) and (s.end_lineno or s.lineno) >= first]
    cuts = []
    for number, statement in enumerate(gone):
        if _shares_line(statement, lines):
            continue
        emptied = len(gone) == len(block) and number == 0
        rest = (indent_of(lines[statement.lineno - 1]) + "pass",) if emptied else ()
        cuts.append(Cut(statement.lineno, statement.end_lineno or 0, rest, "removed an assertion"))
    return cuts


def _shares_line(statement: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether another statement shares the statement's first or last line (`f(); assert x`)."""
    before = lines[statement.lineno - 1].encode()[: statement.col_offset].strip()
    after = lines[(statement.end_lineno or 0) - 1].encode()[statement.end_col_offset or 0 :].strip()
    return bool(before) or after.startswith(b";")


def _is_assertion(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assert):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr.startswith("assert")


def _loosened(function: Function, failing: Sequence[Failure], lines: Sequence[str]) -> list[Cut]:
    """Make the failing assertions weaker: they only require some value, not a certain one."""
    cuts = {}
    for crash in {failure.crash for failure in failing}:
        statement = next(
            (s for s in ast.walk(function) if _is_assertion_at(s, crash)),
            None,
        )
        weaker = _weaker(statement) if isinstance(statement, ast.stmt) else None
        if not isinstance(statement, ast.stmt) or weaker is None or _shares_line(statement, lines):
            return []
        indent = indent_of(lines[statement.lineno - 1])
        cuts[statement.lineno] = Cut(
            statement.lineno, statement.end_lineno or 0, (indent + weaker,), "loosened an assertion"
        )
    return list(cuts.values())


def _is_assertion_at(node: ast.AST, line: int | None) -> bool:
    inside = isinstance(node, ast.stmt) and line is not None and node.lineno <= line <= (node.end_lineno or 0)
    return inside and _is_assertion(node)  # type: ignore[arg-type]


def _weaker(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()])):
            return f"assert {ast.unparse(left)} is not None"
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="assertEqual"), args=[left, *_])):
            return f"{ast.unparse(owner)}.assertIsNotNone({ast.unparse(left)})"
    return None
