"""The removal strategy (SSR section 5): remove code so that the rest still runs, and is wrong.

Every function here looks at one function of one file and proposes cuts: its body, a branch, a loop, error handling, a
run of statements, an overriding method. The compatibility edits are part of a cut: a name that is still needed keeps a
definition, an emptied block gets a `pass`, an `elif` that lost its `if` becomes an `if`.
"""

import ast
import random
from collections import deque
from collections.abc import Iterator, Sequence

from selfplay.scripted.edits.cuts import Cut, first_line, indent_of, with_comments
from selfplay.scripted.edits.names import Function, Names, parameters, without_docstring

MAX_RUN_LINES = 40


def removal_cuts(function: Function, lines: Sequence[str]) -> list[Cut]:
    """All cuts the strategy knows in `function`, in a fixed order. `lines` are those of the whole file."""
    found = [*body_cuts(function, lines), *_block_cuts(function, lines)]
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


def body_cuts(function: Function, lines: Sequence[str]) -> Iterator[Cut]:
    """Remove the whole body; a plausible constant, the first argument or nothing is returned instead."""
    body = without_docstring(function.body)
    if not body or function.name == "__init__" or _shares_line(body, lines):
        return
    first, end = first_line(body[0]), _end(body[-1])
    start, indent = with_comments(lines, first), indent_of(lines[first - 1])
    stand_in = _stand_in(function)
    if end - start < 1 or lines[start - 1 : end] == [f"{indent}{stand_in}\n"]:
        return
    yield Cut(start, end, (indent + stand_in,), f"removed the body of {function.name}()")


def _stand_in(function: Function) -> str:
    """The statement that replaces a body: like its returns, but emptied; else the first argument; else None."""
    own = [node for node in _own_nodes(function) if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom)]
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own):
        return "yield from ()" if isinstance(function, ast.FunctionDef) else "return; yield"
    values = [node.value for node in own if isinstance(node, ast.Return) and node.value is not None]
    if not values:
        return "return None"
    for value in values:
        match value:
            case ast.List() | ast.ListComp():
                return "return []"
            case ast.Dict() | ast.DictComp():
                return "return {}"
            case ast.Compare() | ast.Constant(value=bool()):
                return "return False"
            case ast.Constant(value=str()) | ast.JoinedStr():
                return 'return ""'
    names = [name for name in parameters(function) if name not in ("self", "cls")]
    return f"return {names[0]}" if names else "return None"


def _block_cuts(function: Function, lines: Sequence[str]) -> Iterator[Cut]:
    names = Names(function)
    for block, parent in _blocks(function):
        statements = without_docstring(block) if parent is function else block
        for statement in statements:
            match statement:
                case ast.If():
                    yield from _branch_cuts(statement, names, lines)
                case ast.Try():
                    yield from _handler_cuts(statement, names, lines)
        yield from _run_cuts(statements, block, names, lines)


def _run_cuts(run: Sequence[ast.stmt], block: Sequence[ast.stmt], names: Names, lines: Sequence[str]) -> Iterator[Cut]:
    """Remove neighbouring statements together, when nothing after them needs a name only they define."""
    for first in range(len(run)):
        start = with_comments(lines, first_line(run[first]))
        for last in range(first, len(run)):
            removed, end = run[first : last + 1], _end(run[last])
            if end - start + 1 > MAX_RUN_LINES:
                break
            if _shares_line(removed, lines) or names.miss(start, end):
                continue
            emptied = len(removed) == len(block) and not _is_elif(removed[0], lines)
            rest = (indent_of(lines[first_line(removed[0]) - 1]) + "pass",) if emptied else ()
            yield Cut(start, end, rest, f"removed {_describe(removed)}")


def _branch_cuts(statement: ast.If, names: Names, lines: Sequence[str]) -> Iterator[Cut]:
    """Remove one arm of an `if`: the first with its condition (the next takes over), or the last."""
    if not statement.orelse:
        return
    other, indent = statement.orelse[0], indent_of(lines[statement.lineno - 1])
    head_is_elif = _is_elif(statement, lines)
    first_misses = names.miss(statement.lineno, _end(statement.body[-1]))
    if _is_elif(other, lines):
        promoted = lines[other.lineno - 1].rstrip("\n").replace("elif", "elif" if head_is_elif else "if", 1)
        if not first_misses:
            yield Cut(statement.lineno, other.lineno, (promoted,), "removed a branch of a condition")
        return
    else_line, end = _else_line(statement, lines), _end(statement.orelse[-1])
    if else_line is None:
        return
    if not names.miss(else_line, end):
        yield Cut(else_line, end, (), "removed an else branch")
    inner = _dedented(statement.orelse, lines, indent)
    if inner is not None and not head_is_elif and not first_misses:
        yield Cut(statement.lineno, end, inner, "removed a condition and its first branch")


def _handler_cuts(statement: ast.Try, names: Names, lines: Sequence[str]) -> Iterator[Cut]:
    """Remove error handling: the body stays, or one of several handlers is removed."""
    inner = _dedented(statement.body + statement.orelse, lines, indent_of(lines[statement.lineno - 1]))
    after_body = _end(statement.body[-1]) + 1
    if inner is not None and not statement.orelse and not names.miss(after_body, _end(statement)):
        yield Cut(statement.lineno, _end(statement), inner, "removed error handling")
    if len(statement.handlers) > 1:
        for handler in statement.handlers:
            if names.miss(handler.lineno, _end(handler)):
                continue
            yield Cut(handler.lineno, _end(handler), (), "removed an exception handler")


def _dedented(body: Sequence[ast.stmt], lines: Sequence[str], indent: str) -> tuple[str, ...] | None:
    """The lines of `body` moved left to `indent`; None when that would change a multi-line string."""
    if _shares_line(body, lines) or any(_spans_lines(node) for statement in body for node in ast.walk(statement)):
        return None
    inner = indent_of(lines[body[0].lineno - 1])
    taken = [line.rstrip("\n") for line in lines[first_line(body[0]) - 1 : _end(body[-1])]]
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
    for number in range(statement.orelse[0].lineno - 1, _end(statement.body[-1]), -1):
        if lines[number - 1].startswith(f"{indent}else"):
            return number
    return None


def _shares_line(statements: Sequence[ast.stmt], lines: Sequence[str]) -> bool:
    """Whether a neighbour shares the first or last line (`a; b`, `if x: y`)."""
    first, last = statements[0], statements[-1]
    before = lines[first_line(first) - 1].encode()[: first.col_offset].decode("utf-8", "replace")
    after = lines[_end(last) - 1].encode()[last.end_col_offset or 0 :].decode("utf-8", "replace").strip()
    return (bool(before.strip()) and not before.lstrip().startswith("@")) or after.startswith(";")


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


def _end(node: ast.stmt | ast.excepthandler) -> int:
    return node.end_lineno or node.lineno
