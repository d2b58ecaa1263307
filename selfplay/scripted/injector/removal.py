"""The removal strategy (SSR section 5): remove code so that the rest still runs, and is wrong.

Every function here looks at one function of one file and proposes cuts: a branch, a loop, error handling, a run of
statements, a part of an expression (`trims`). The compatibility edits are part of a cut: a name that is still needed
keeps a definition, an `elif` that lost its `if` becomes an `if`; `tidy` takes away what nothing uses any more. No block
is left empty, and no body: a function that does nothing shows where the bug is.
"""

import ast
import random
from collections import deque
from collections.abc import Iterator, Sequence

from selfplay.scripted.edits.cuts import Cut, first_line, indent_of, last_line, shares_line, with_comments, without_gap
from selfplay.scripted.edits.names import CodeNames, Function, without_docstring
from selfplay.scripted.injector.trims import trims

MAX_RUN_LINES = 40


def removal_cuts(function: Function, lines: Sequence[str]) -> list[Cut]:
    """All cuts the strategy knows in `function`, in a fixed order. `lines` are those of the whole file."""
    found = [*_block_cuts(function, lines), *trims(function, lines)]
    return list({(cut.start, cut.end, cut.lines): cut for cut in found}.values())


def compose(cuts: Sequence[Cut], wanted: int, rng: random.Random) -> tuple[Cut, ...]:
    """One cut near `wanted` changed lines, or several separate ones that add up to about as many."""
    order = sorted(cuts, key=lambda cut: abs(cut.size - wanted) + rng.uniform(0, wanted))
    chosen: list[Cut] = []
    for cut in order:
        room = wanted - sum(c.size for c in chosen)
        if room <= wanted // 4:
            break
        if chosen and cut.size > 2 * room:
            continue
        if not any(cut.overlaps(other) for other in chosen):
            chosen.append(cut)
    return tuple(sorted(chosen, key=lambda cut: cut.start))


def _block_cuts(function: Function, lines: Sequence[str]) -> Iterator[Cut]:
    names = CodeNames(function)
    for block, parent in _blocks(function):
        statements = without_docstring(block) if parent is function else block
        for statement in statements:
            match statement:
                case ast.If():
                    yield from _branch_cuts(statement, names, lines)
                case ast.Try():
                    yield from _handler_cuts(statement, names, lines)
        yield from _run_cuts(statements, block, names, lines)


def _run_cuts(
    run: Sequence[ast.stmt], block: Sequence[ast.stmt], names: CodeNames, lines: Sequence[str]
) -> Iterator[Cut]:
    """Remove neighbouring statements together, when nothing after them needs a name only they define."""
    for first in range(len(run)):
        start = with_comments(lines, first_line(run[first]))
        for last in range(first, len(run)):
            removed, end = run[first : last + 1], last_line(run[last])
            if end - start + 1 > MAX_RUN_LINES:
                break
            emptied = len(removed) == len(block) and not _is_elif(removed[0], lines)
            if emptied or shares_line(removed, lines) or names.miss(start, end):
                continue
            yield Cut(*without_gap(lines, start, end), (), f"removed {_describe(removed)}", _guarded(removed))


def _guarded(run: Sequence[ast.stmt]) -> tuple[int, int] | None:
    """The lines that run in one case alone, if the run is a condition without an `else`, and what is made for it."""
    match run:
        case [*before, ast.If(body=body, orelse=[])] if all(isinstance(one, ast.Assign) for one in before):
            return _extent(body)
    return None


def _extent(block: Sequence[ast.stmt]) -> tuple[int, int]:
    return first_line(block[0]), last_line(block[-1])


def _branch_cuts(statement: ast.If, names: CodeNames, lines: Sequence[str]) -> Iterator[Cut]:
    """Remove one arm of an `if`: the first with its condition (the next takes over), or the last."""
    if not statement.orelse:
        return
    other, indent = statement.orelse[0], indent_of(lines[statement.lineno - 1])
    head_is_elif = _is_elif(statement, lines)
    first_misses = names.miss(statement.lineno, last_line(statement.body[-1]))
    if _is_elif(other, lines):
        promoted = lines[other.lineno - 1].rstrip("\n").replace("elif", "elif" if head_is_elif else "if", 1)
        if not first_misses:
            case = _extent(statement.body)
            yield Cut(statement.lineno, other.lineno, (promoted,), "removed a branch of a condition", case)
        return
    else_line, end = _else_line(statement, lines), last_line(statement.orelse[-1])
    if else_line is None:
        return
    if not names.miss(else_line, end):
        yield Cut(else_line, end, (), "removed an else branch", _extent(statement.orelse))
    inner = _dedented(statement.orelse, lines, indent)
    if inner is not None and not head_is_elif and not first_misses:
        yield Cut(statement.lineno, end, inner, "removed a condition and its first branch", _extent(statement.body))


def _handler_cuts(statement: ast.Try, names: CodeNames, lines: Sequence[str]) -> Iterator[Cut]:
    """Remove error handling: the body stays, or one of several handlers is removed."""
    inner = _dedented(statement.body + statement.orelse, lines, indent_of(lines[statement.lineno - 1]))
    after_body = last_line(statement.body[-1]) + 1
    if inner is not None and not statement.orelse and not names.miss(after_body, last_line(statement)):
        case = _extent([one for handler in statement.handlers for one in handler.body]) if statement.handlers else None
        yield Cut(statement.lineno, last_line(statement), inner, "removed error handling", case)
    if len(statement.handlers) > 1:
        for handler in statement.handlers:
            if names.miss(handler.lineno, last_line(handler)):
                continue
            case = _extent(handler.body)
            yield Cut(handler.lineno, last_line(handler), (), "removed an exception handler", case)


def _dedented(body: Sequence[ast.stmt], lines: Sequence[str], indent: str) -> tuple[str, ...] | None:
    """The lines of `body` moved left to `indent`; None when that would change a multi-line string."""
    if shares_line(body, lines) or any(_spans_lines(node) for statement in body for node in ast.walk(statement)):
        return None
    inner = indent_of(lines[body[0].lineno - 1])
    taken = [line.rstrip("\n") for line in lines[first_line(body[0]) - 1 : last_line(body[-1])]]
    if not all(line.startswith(inner) or not line.strip() for line in taken):
        return None
    return tuple(indent + line[len(inner) :] if line.strip() else "" for line in taken)


def _spans_lines(node: ast.AST) -> bool:
    text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
    return text and node.end_lineno != node.lineno  # type: ignore[attr-defined]


def _is_elif(statement: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether this is the `if` inside an `elif`, which is a separate statement to the parser but not in the source."""
    return isinstance(statement, ast.If) and lines[statement.lineno - 1].lstrip().startswith("elif")


def _else_line(statement: ast.If, lines: Sequence[str]) -> int | None:
    indent = indent_of(lines[statement.lineno - 1])
    for number in range(statement.orelse[0].lineno - 1, last_line(statement.body[-1]), -1):
        if lines[number - 1].startswith(f"{indent}else"):
            return number
    return None


def _blocks(function: Function) -> Iterator[tuple[list[ast.stmt], ast.AST]]:
    for node in [function, *_own_nodes(function)]:
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block, node


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """Nodes of the function but not of functions or classes defined in it."""
    queue: deque[ast.AST] = deque(function.body)
    while queue:
        node = queue.popleft()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            queue.extend(ast.iter_child_nodes(node))


def _describe(statements: Sequence[ast.stmt]) -> str:
    kinds = {ast.If: "a condition", ast.For: "a loop", ast.While: "a loop", ast.Try: "error handling"}
    named = [kinds[type(s)] for s in statements if type(s) in kinds]
    if len(statements) == 1 and named:
        return named[0]
    return f"{len(statements)} statements" if len(statements) > 1 else "a statement"
