"""Programs that give one answer to every input. If nearly all probes of a bug have the same answer, such programs are
written and run: only where each fails the probes, is caught by the guards, or answers a further call otherwise than the
original (which makes its grade weak) can these tell a repair from it."""

import ast
import builtins
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import replace

from selfplay.oracle.behaviour.agreeing_calls import damage, differing, joined
from selfplay.oracle.behaviour.call_results import only
from selfplay.oracle.behaviour.changed_code import changed_numbers
from selfplay.oracle.behaviour.compare import AGREE
from selfplay.oracle.behaviour.line_reach import ran_in
from selfplay.oracle.behaviour.probe_runner import Bench
from selfplay.oracle.behaviour.stored_behaviour import Behaviour, compared, most_alike
from selfplay.oracle.behaviour.traced_calls import changed_lines
from selfplay.oracle.originals import read_originals
from selfplay.oracle.rewriting.python_trees import (
    Function,
    Unwritable,
    bodies,
    first_line,
    is_text,
    own_lines,
    parsed,
    unparsed,
)
from selfplay.oracle.task import Task
from selfplay.plain_text import decode, encode
from selfplay.python_source import short_expression, syntax_tree
from selfplay.untrusted_json import json_value
from selfplay.workbench.files import TestFile

MOST_PROGRAMS = 6
"""A bug that needs more programs is not looked at."""
_SCALARS = ("int", "float", "complex", "bytes")


def constant_is_caught(bench: Bench, known: Behaviour) -> bool:
    """Whether every program of `constant_programs`, for the most frequent answer, is told from a repair. False if none
    can be written, or if most probes differ in their answers. Raises `SandboxError`."""
    alike = {probe: known.right[probe] for probe in most_alike(known.right) if probe in known.calls.sources}
    if not alike or len(alike) < AGREE * len(known.right):
        return False
    statement = giving(next(iter(next(iter(alike.values())).values())))
    ran = bench.lines(only(known.calls, alike)) if statement else {}
    lines = frozenset(line for said in ran.values() for line in ran_in(said))
    programs = constant_programs(bench.task, statement, lines) if statement else []
    if len(programs) > MOST_PROGRAMS:
        return False
    every = joined(joined(known.calls, known.guards.calls), known.further.calls)
    for files in programs:
        seen = bench.call(every, files=files)
        passes = compared(alike, known.wrong, seen).right >= AGREE * len(alike)
        if passes and damage(known.guards, seen) is None and not differing(known.further, seen)[0]:
            return False
    return bool(programs)


def constant_programs(task: Task, statement: ast.stmt, ran: Set[int]) -> list[dict[str, TestFile]]:
    """The changed files of the original, with the statement as the whole body of a changed function, or in the place of
    the changed statements, which leaves what comes before them as it is. Each place makes one program; what the
    original does there itself makes none, nor does a function of which none of the lines that `ran` in the probes is:
    it gives them no answer. Empty if one of them cannot be written, or if they are too many."""
    programs, lines = list[dict[str, TestFile]](), changed_numbers(task, insertions=True)
    for path, firsts in changed_lines(task).items():
        if not 0 < len(firsts) <= MOST_PROGRAMS:
            return []
        file = read_originals(task.world, [path])[path]
        try:
            texts = [*_constant(decode(file.content), firsts, lines.get(path, set()), statement, ran)]
        except Unwritable:
            return []
        if not texts:
            return []
        programs += [{path: replace(file, content=encode(text))} for text in texts]
    return programs


def _constant(text: str, firsts: Sequence[int], lines: Set[int], statement: ast.stmt, ran: Set[int]) -> Iterator[str]:
    """The file once for each function that begins at these lines, and once for its changed lines. Raises
    `Unwritable`."""
    for first in firsts:
        tree = parsed(text)
        for node in _functions(tree):
            body = [*_answer(node, lines, statement)]
            here = first_line(node) == first and ran & {*range(node.lineno, (node.end_lineno or 0) + 1)}
            if tree is not None and here and body and not _gives(node, statement):
                node.body = body
                yield unparsed(tree)
    tree = parsed(text)
    asked = [function for function in _functions(tree) if _can_give(function, statement)]
    put = [_put(body, lines, statement) for function in asked for body in [*bodies(function)]]
    if tree is not None and any(put):
        yield unparsed(tree)


def _can_give(function: Function, statement: ast.stmt) -> bool:
    """Whether a function can have this answer: an `__init__` that returns a value raises an error instead."""
    return function.name != "__init__" or not isinstance(statement, ast.Return)


def _answer(function: Function, lines: Set[int], statement: ast.stmt) -> Iterator[ast.stmt]:
    """The one statement of a function that always gives this answer: where it cannot give it, as when the answer is
    that of a test's function which catches an error, what the original raises in a changed line, if there is any."""
    if _can_give(function, statement):
        yield statement
        return
    raised = [node for node in ast.walk(function) if isinstance(node, ast.Raise) and own_lines(node) & lines]
    yield from raised[:1]


def _functions(tree: ast.Module | None) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)] if tree is not None else []


def _put(body: list[ast.stmt], lines: Set[int], statement: ast.stmt) -> bool:
    """Put the statement in the place of those with own lines among these, except those that give its answer themselves.
    Returns whether it was put anywhere."""
    at = [n for n, one in enumerate(body) if not isinstance(one, Function | ast.ClassDef) and own_lines(one) & lines]
    others = [n for n in at if not _same(body[n], statement)]
    for n in others:
        body[n] = statement
    return bool(others)


def _gives(function: Function, statement: ast.stmt) -> bool:
    """Whether a function does nothing else than to give this answer."""
    body = [one for one in function.body if not is_text(one)]
    return len(body) == 1 and _same(body[0], statement)


def _same(node: ast.stmt, statement: ast.stmt) -> bool:
    """Whether a statement gives this answer itself: a repair does that, too."""
    if isinstance(node, ast.Raise) and isinstance(statement, ast.Raise):
        return _raised(node.exc) == _raised(statement.exc)
    return isinstance(node, ast.Return) and ast.dump(node) == ast.dump(statement)


def _raised(node: ast.expr | None) -> str:
    """The name of the exception that an expression gives; empty if it does not say it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type":  # as `_exception`'s
        return str(getattr(node.args[0], "value", "")) if node.args else ""
    named = node.func if isinstance(node, ast.Call) else node
    return str(getattr(named, "attr", getattr(named, "id", "")))


def giving(answer: str) -> ast.stmt | None:
    """The statement that returns or raises what this outcome is; None if it has no short form."""
    with suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        value = json_value(encode(answer))
        if isinstance(value, list) and len(value) == 2 and value[0] == "raised":
            named = str(value[1]).isidentifier()
            return ast.Raise(short_expression(_exception(value[1]))) if named else None
        returned: ast.expr = syntax_tree(literal(value), mode="eval").body
        return ast.Return(returned)
    return None


def _exception(name: str) -> str:
    """An exception of this name: only its name is recorded, and the program may not have imported it."""
    known = isinstance(getattr(builtins, name, None), type)
    return name if known else f"type({name!r}, (Exception,), {{}})"


def literal(value: object) -> str:
    """The source of a plain value. Raises `ValueError` if it has no literal, or is cut off."""
    if value is None or isinstance(value, bool | str):
        return repr(value)
    if not isinstance(value, list) or not value:
        raise ValueError("no plain value")
    kind, *items = value
    if kind in _SCALARS and len(items) == 1:
        return repr(ast.literal_eval(str(items[0])))
    if kind == "dict":
        return "{" + ", ".join(f"{literal(key)}: {literal(one)}" for key, one in items) + "}"
    if kind in ("list", "tuple") and items and items[-1] == str(len(items) - 1):
        return f"{kind}([{', '.join(literal(one) for one in items[:-1])}])"
    raise ValueError(f"{kind} has no literal")
