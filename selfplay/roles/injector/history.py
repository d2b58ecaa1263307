"""The history strategy (SSR section 5): bring back what past commits replaced, by whole file or by some hunks.

Three versions meet: `new` (the file at a past commit), `old` (at its parent) and the file at HEAD. The chosen hunks
are turned back in `new`, and the result is merged into HEAD with `new` as the common base (`git merge-file`), so
later work on other lines survives. Names that other files still import from the file are kept (`keep_defined`).
"""

import ast
import difflib
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from selfplay.roles.injector.cuts import Change, Cut, split_lines

Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True)
class Revert:
    """What to merge into HEAD: `base` is the past version, `theirs` the same with some hunks turned back."""

    base: str
    theirs: str
    what: str


def reverts(old: str, new: str, label: str, rng: random.Random) -> list[Revert]:
    """The whole file back, and single or neighbouring hunks of it, in random order."""
    old_lines, new_lines = split_lines(old), split_lines(new)
    matcher = difflib.SequenceMatcher(None, new_lines, old_lines, autojunk=False)
    codes = matcher.get_opcodes()
    hunks = [number for number, code in enumerate(codes) if code[0] != "equal" and _matters(code, new_lines, old_lines)]
    groups = [{h} for h in hunks] + [set(pair) for pair in itertools.pairwise(hunks)]
    if len(hunks) > 2:
        groups += [set(hunks[i : i + 4]) for i in range(0, len(hunks), 2)]
        groups.append(set(hunks))
    rng.shuffle(groups)
    texts = {_turned_back(codes, group, new_lines, old_lines): len(group) for group in groups}
    return [
        Revert(new, text, f"brought back {count} hunk{'s' * (count > 1)} of {label}") for text, count in texts.items()
    ]


def _matters(code: Opcode, new: Sequence[str], old: Sequence[str]) -> bool:
    """Whether a hunk changes more than comments, blank lines and version numbers."""
    _, i, j, k, m = code
    text = [line.strip() for line in [*new[i:j], *old[k:m]]]
    code_lines = [line for line in text if line and not line.startswith("#")]
    return any("version" not in line.lower() for line in code_lines)


def _turned_back(codes: Sequence[Opcode], chosen: set[int], new: Sequence[str], old: Sequence[str]) -> str:
    parts: list[str] = []
    for number, (_, i, j, k, m) in enumerate(codes):
        parts.extend(old[k:m] if number in chosen else new[i:j])
    return "".join(parts)


def reverted_change(path: str, head: str, merged: str, what: str) -> Change | None:
    """The merged text as a change of HEAD; None when it does not parse or changes no code."""
    try:
        if ast.dump(_without_docstrings(head)) == ast.dump(_without_docstrings(merged)):
            return None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    before, after = split_lines(head), split_lines(merged)
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    cuts = tuple(
        Cut(i + 1, j, tuple(line.rstrip("\n") for line in after[k:m])) for tag, i, j, k, m in codes if tag != "equal"
    )
    return Change(path, head, merged, cuts, what)


def _without_docstrings(text: str) -> ast.Module:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[0] = ast.Pass()
    return tree


def keep_defined(head: str, merged: str, needed: set[str]) -> str:
    """`merged` with the top-level definitions and imports of HEAD put back that it lost and others need.

    `needed`: names other files take from this one. Names the merged text itself reads are needed too. What was
    lost is appended (definitions) or prepended after the docstring (imports).
    """
    try:
        head_tree, merged_tree = ast.parse(head), ast.parse(merged)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
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


def top_level_names(statement: ast.stmt) -> Iterator[str]:
    """Names a top-level statement defines, also inside `try` and `if`."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in names)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            yield from (n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        case ast.If() | ast.Try():
            handlers = [h.body for h in getattr(statement, "handlers", [])]
            for block in [statement.body, statement.orelse, *handlers]:
                for inner in block:
                    yield from top_level_names(inner)


def _source(statement: ast.stmt, text: str) -> str:
    start = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
    return "".join(split_lines(text)[start - 1 : statement.end_lineno]).rstrip("\n")


def _insert_imports(text: str, tree: ast.Module, imports: Sequence[str]) -> str:
    if not imports:
        return text
    firsts = [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    place = next((s.end_lineno or 0 for s in firsts if getattr(s, "module", "") != "__future__"), 0)
    place = place or (firsts[-1].end_lineno or 0 if firsts else 0)
    lines = split_lines(text)
    return "".join([*lines[:place], *(f"{line}\n" for line in imports), *lines[place:]])
