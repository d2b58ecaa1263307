"""The history strategy (SSR section 5): bring back what past commits replaced, by whole file or by some hunks.

Two versions of a file are involved: `new`, as a past commit left it, and the file at HEAD. The chosen hunks of that
commit are reverted. Each is placed where its lines and their context still stand in HEAD, or merged by `git merge-file`
where the context has changed, so later work on other lines survives. Names that other files still take from the file
are kept (`keep_defined`).
"""

import ast
import hashlib
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from selfplay import patches
from selfplay.formatting import count
from selfplay.patches.lines import split_lines
from selfplay.python_source import shared_tree, syntax_tree
from selfplay.scripted.edits.cuts import UNREADABLE, Cut, PlantedChange, apply_cuts, first_line
from selfplay.scripted.edits.names import top_level_names


@dataclass(frozen=True)
class Revert:
    """Hunks of one past commit to revert: cuts of `base`, the file as the commit left it."""

    base: str
    cuts: tuple[Cut, ...]
    what: str

    @property
    def theirs(self) -> str:
        """`base` with the hunks reverted."""
        return apply_cuts(self.base, self.cuts)


def reverts(diff: str, new: str, label: str, wanted: int, rng: random.Random) -> list[Revert]:
    """The reverted change of the whole commit in a file, and of single or neighbouring hunks; those with about `wanted`
    changed lines come first.

    `diff`: git's diff of the commit for this file, without context; `new`: the file as the commit left it.
    """
    cuts = list(_turned_back(diff))
    if any(cut.end > len(split_lines(new)) for cut in cuts):
        return []
    groups: list[tuple[Cut, ...]] = [*((cut,) for cut in cuts), *itertools.pairwise(cuts)]
    if len(cuts) > 2:
        groups += [tuple(cuts[i : i + 4]) for i in range(0, len(cuts), 2)]
        groups.append(tuple(cuts))
    groups = sorted(dict.fromkeys(groups), key=lambda group: abs(_size(group) - wanted) + rng.uniform(0, wanted))
    return [Revert(new, group, f"brought back {count(len(group), 'hunk')} of {label}") for group in groups]


def _size(group: Sequence[Cut]) -> int:
    return sum(cut.size for cut in group)


def _turned_back(diff: str) -> Iterator[Cut]:
    """For each hunk that changes code, the cut of `new` that undoes it."""
    try:
        sections = patches.parse(diff) if diff.strip() else ()
    except patches.PatchError:
        return
    for hunk in (hunk for section in sections for hunk in section.hunks):
        removed = tuple(line[1:] for line in hunk.lines if line.startswith("-"))
        added = [line[1:] for line in hunk.lines if line.startswith("+")]
        if any(line.startswith("\\") for line in hunk.lines) or not _matters([*removed, *added]):
            continue
        start = hunk.new_start if hunk.new_count else hunk.new_start + 1
        yield Cut(start, start + hunk.new_count - 1, removed)


def _matters(lines: Sequence[str]) -> bool:
    """Whether the lines are more than comments, blank lines and version numbers."""
    code = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    return any("version" not in line.lower() for line in code)


def carry(head: str, revert: Revert) -> tuple[Cut, ...] | None:
    """The revert as cuts of HEAD, each where its lines occur exactly once; None when one has no such place.

    A merge without a tool call, for the usual case that HEAD still has those lines.
    """
    base = split_lines(revert.base)
    carried = []
    for cut in revert.cuts:
        place = _place(head, base, cut.start - 1, cut.end)
        if place is None:
            return None
        carried.append(Cut(place + 1, place + cut.end - cut.start + 1, cut.lines))
    apart = all(a.end < b.start for a, b in itertools.pairwise(sorted(carried, key=lambda cut: cut.start)))
    return tuple(carried) if apart else None


def _place(head: str, base: Sequence[str], i: int, j: int) -> int | None:
    """The line number in `head` at which base[i:j] stands, identified with up to three lines of context; None unless
    there is exactly one place."""
    for context in (3, 2, 1):
        start, end = max(0, i - context), min(len(base), j + context)
        found = _line_of("".join(base[start:end]), head)
        if found is not None:
            return found + (i - start)
    return None


def _line_of(wanted: str, text: str) -> int | None:
    """How many lines precede the only place in `text` where `wanted` occurs as whole lines; None if it occurs nowhere
    or more than once."""
    if not wanted.endswith("\n"):  # a last line without a line end fits only at the end
        alone = wanted and f"\n{text}".endswith(f"\n{wanted}")
        return text.count("\n") - wanted.count("\n") if alone else None
    padded, wanted = f"\n{text}", f"\n{wanted}"
    at = padded.find(wanted)
    if at < 0 or padded.find(wanted, at + 1) >= 0:
        return None
    return padded.count("\n", 0, at)


def reverted_change(path: str, head: str, merged: str, cuts: tuple[Cut, ...], what: str) -> PlantedChange | None:
    """The merged text as a change of HEAD; None if it does not parse or does the same."""
    try:
        if _behaviour(head) == _behaviour(merged):
            return None
    except UNREADABLE:
        return None
    return PlantedChange(path, head, merged, cuts, what)


class _BehaviourOnly(ast.NodeTransformer):
    """Keeps only what a program does: removes docstrings, annotations, and imports that serve types only."""

    def visit(self, node: ast.AST) -> ast.AST | None:
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[0] = ast.Pass()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.returns = None
            case ast.arg():
                node.annotation = None
            case ast.ImportFrom(module="__future__" | "typing" | "typing_extensions" | "collections.abc"):
                return None
            case ast.AnnAssign(value=None):
                return None
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self.generic_visit(ast.Assign([target], value))
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                return None
        return self.generic_visit(node)


@lru_cache(maxsize=64)
def _behaviour(text: str) -> bytes:
    """A digest of what a program does. Cached, because one file is changed in many forms."""
    tree = syntax_tree(text)
    return hashlib.sha256(ast.dump(_BehaviourOnly().visit(tree) or tree).encode("utf-8", "surrogatepass")).digest()


def keep_defined(head: str, merged: str, needed: set[str]) -> str:
    """`merged`, plus the top-level definitions and imports of HEAD that it lost and others need.

    `needed`: names that other files take from this one. Names that the merged text itself reads are needed too. Lost
    definitions are appended, lost imports are inserted after the docstring.
    """
    try:
        head_tree, merged_tree = shared_tree(head), shared_tree(merged)
    except UNREADABLE:
        return merged
    have = {name for statement in merged_tree.body for name in top_level_names(statement)}
    read = {n.id for n in ast.walk(merged_tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    imports: list[str] = []
    definitions: list[str] = []
    for statement in head_tree.body:
        lost = (set(top_level_names(statement)) - have) & (needed | read)
        if lost:
            is_import = isinstance(statement, ast.Import | ast.ImportFrom)
            (imports if is_import else definitions).append(_source(statement, head))
    return _insert_imports(merged, merged_tree, imports) + "".join(f"\n\n{text}\n" for text in definitions)


def _source(statement: ast.stmt, text: str) -> str:
    return "".join(split_lines(text)[first_line(statement) - 1 : statement.end_lineno]).rstrip("\n")


def _top(tree: ast.Module) -> int:
    """The last line before the code: of the docstring, or of the comments above the first statement."""
    first = tree.body[0] if tree.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first.end_lineno or 0
    return first_line(first) - 1 if first else 0


def _insert_imports(text: str, tree: ast.Module, imports: Sequence[str]) -> str:
    if not imports:
        return text
    firsts = [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    place = next((s.end_lineno or 0 for s in firsts if getattr(s, "module", "") != "__future__"), 0)
    place = place or (firsts[-1].end_lineno or 0 if firsts else _top(tree))
    lines = split_lines(text)
    return "".join([*lines[:place], *(f"{line}\n" for line in imports), *lines[place:]])
