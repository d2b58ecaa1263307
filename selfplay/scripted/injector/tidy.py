"""Removes what a cut leaves unused: imports, locals and private helpers that nothing reads any more.

So the code looks as if the removed behaviour had never been thought of, and no linter points at the place.
"""

import ast
from collections.abc import Collection, Iterator

from selfplay.believable import BelievableRules, faults
from selfplay.believable.blocks import Function, statements
from selfplay.believable.names import loose_ends
from selfplay.believable.scaffolds import scaffolds
from selfplay.patches.lines import split_lines
from selfplay.python_source import shared_tree
from selfplay.scripted.edits.cuts import (
    UNREADABLE,
    Cut,
    PlantedChange,
    apply_cuts,
    cuts_between,
    first_line,
    with_comments,
    without_gap,
)

ROUNDS = 4
"""How often to repeat: a removed local may have been the only reader of another."""


def tidied(change: PlantedChange, kept: Collection[str], *, whole: bool = False) -> PlantedChange | None:
    """The change without newly unused code; None if it cannot be made believable. `kept`: names that
    other files take from this one. `whole`: it may leave no scaffold of what it removes."""
    text = change.after
    if text is None:
        return change
    try:
        was = loose_ends(change.before)
        for _ in range(ROUNDS):
            now = loose_ends(text)
            orphans = now.orphans - was.orphans - set(kept)
            cuts = list(_cuts(text, now.unused - was.unused - set(kept), (now.dead - was.dead) | orphans))
            if not cuts:
                break
            text = apply_cuts(text, cuts)
        if faults(BelievableRules(), {change.path: change.before}, {change.path: text}):
            return None
        if whole and scaffolds(change.before, text):
            return None
    except UNREADABLE:
        return None
    if text == change.after:
        return change
    return PlantedChange(change.path, change.before, text, cuts_between(change.before, text), change.what)


def _cuts(text: str, imports: Collection[str], dead: Collection[str]) -> Iterator[Cut]:
    """Cuts of statements that bind nothing but these names; `scope.name` for those of a function."""
    lines, tree = split_lines(text), shared_tree(text)
    for where, node in [("", tree), *statements(tree)]:
        inner = f"{where}{node.name}." if isinstance(node, Function | ast.ClassDef) else where
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and len(block) > 1:
                yield from (cut for one in block if (cut := _cut(inner, one, imports, dead, lines)))


def _cut(
    where: str, statement: ast.stmt, imports: Collection[str], dead: Collection[str], lines: list[str]
) -> Cut | None:
    end = statement.end_lineno or statement.lineno
    whole = lines[statement.lineno - 1][: statement.col_offset].isspace() or statement.col_offset == 0
    if not whole or lines[end - 1].encode()[statement.end_col_offset or 0 :].strip():
        return None
    match statement:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            left = [n for n in names if where + (n.asname or n.name).split(".")[0] not in imports]
            if len(left) == len(names):
                return None
            rest = _import(statement, left, lines) if left else ()
            return Cut(statement.lineno, end, rest)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return Cut(*without_gap(lines, statement.lineno, end)) if where + name in dead else None
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if not where and name in dead:
            return Cut(*without_gap(lines, with_comments(lines, first_line(statement)), end))
    return None


def _import(statement: ast.Import | ast.ImportFrom, left: list[ast.alias], lines: list[str]) -> tuple[str, ...]:
    """The import of the names that are left, written as it was: in lines of their own, or in one."""
    indent = lines[statement.lineno - 1][: statement.col_offset]
    if statement.end_lineno == statement.lineno:
        said = ast.unparse(_with(statement, left))
        return (indent + said,)
    gone = {(n.asname or n.name) for n in statement.names} - {(n.asname or n.name) for n in left}
    kept = lines[statement.lineno - 1 : statement.end_lineno]
    alone = [line.rstrip("\n") for line in kept if line.strip().rstrip(",").split(" as ")[-1] not in gone]
    return tuple(alone) if len(alone) + len(gone) == len(kept) else (indent + ast.unparse(_with(statement, left)),)


def _with(statement: ast.Import | ast.ImportFrom, left: list[ast.alias]) -> ast.stmt:
    if isinstance(statement, ast.Import):
        return ast.Import(left)
    return ast.ImportFrom(statement.module, left, statement.level)
