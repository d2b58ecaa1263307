"""Programs that give one answer to every input. If nearly all probes of a bug have the same answer, such programs are
written and run, to see whether the guards catch them: only then can probes and guards tell a repair from them."""

import ast
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from selfplay.oracle.behaviour.agreeing_calls import damage, joined
from selfplay.oracle.behaviour.compare import AGREE
from selfplay.oracle.behaviour.probe_runner import Bench
from selfplay.oracle.behaviour.stored_behaviour import Behaviour, compared, most_alike
from selfplay.oracle.behaviour.traced_calls import changed_lines
from selfplay.oracle.originals import read_originals
from selfplay.oracle.rewriting.python_trees import Function, parsed, unparsed
from selfplay.oracle.world import Task
from selfplay.plain_text import decode, encode
from selfplay.workbench.files import TestFile

MOST_PROGRAMS = 4
"""A bug that changes more functions is not looked at."""
_SCALARS = ("int", "float", "complex", "bytes")


def constant_is_caught(bench: Bench, known: Behaviour) -> bool:
    """Whether the guards catch every program in which one changed function gives the most frequent answer, as far as it
    passes the probes. False if none passes them, or if most probes differ in their answers. Raises `SandboxError`."""
    alike = {probe: known.right[probe] for probe in most_alike(known.right) if probe in known.calls.sources}
    if not alike or len(alike) < AGREE * len(known.right):
        return False
    statement = giving(next(iter(next(iter(alike.values())).values())))
    programs = [*islice(constant_programs(bench.task, statement), MOST_PROGRAMS + 1)] if statement else []
    caught, every = list[bool](), joined(known.calls, known.guards.calls)
    for files in programs[: MOST_PROGRAMS + 1]:
        seen = bench.call(every, files=files)
        if compared(alike, known.wrong, seen).right >= AGREE * len(alike):
            caught.append(damage(known.guards, seen) is not None)
    return len(programs) <= MOST_PROGRAMS and bool(caught) and all(caught)


def constant_programs(task: Task, statement: ast.stmt) -> Iterator[dict[str, TestFile]]:
    """The changed files of the original, with one changed function that only does this, for each such function."""
    for path, firsts in changed_lines(task).items():
        file = read_originals(task.world, [path])[path]
        text = decode(file.content)
        for first in firsts:
            with suppress(RecursionError):
                yield {path: replace(file, content=encode(_only(text, first, statement)))}


def _only(text: str, first: int, statement: ast.stmt) -> str:
    """The file, in which the function that begins at this line does only this."""
    tree = parsed(text)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, Function) and min(one.lineno for one in (node, *node.decorator_list)) == first:
            node.body = [statement]
    return unparsed(tree) if tree is not None else text


def giving(answer: str) -> ast.stmt | None:
    """The statement that returns or raises what this outcome is; None if it has no short form."""
    with suppress(ValueError, SyntaxError, RecursionError):
        value = json.loads(answer)
        if isinstance(value, list) and len(value) == 2 and value[0] == "raised":
            return ast.parse(f"raise {value[1]}").body[0] if str(value[1]).isidentifier() else None
        return ast.parse(f"return {literal(value)}").body[0]
    return None


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
