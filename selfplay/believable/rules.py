"""The rules as a value, and the faults of a change under them.

Only new faults count: a name that was undefined before, or a function that was a stub, is not the bug's fault. Python
files, and files of a language with a grammar (`selfplay.syntax`), are checked for names and stubs; the location of a
file counts in every language.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from selfplay import patches
from selfplay.believable.names import loose_ends
from selfplay.believable.product import is_generated, is_product
from selfplay.believable.stubs import stubs
from selfplay.believable.unbound import maybe_unbound
from selfplay.patches.applied import applied
from selfplay.python_source import HeavySource
from selfplay.syntax import Grammar, grammar_of, shapes
from selfplay.syntax.bounded import TooCostly, Unreadable
from selfplay.syntax.names import names
from selfplay.syntax.private_methods import unnamed_methods

NAME = "believable"
"""The name under which a refused bug is counted, in addition to those of the checks."""
MOST_TEXT = 1_000_000
"""The largest file that is parsed, in characters: longer ones are generated."""
UNREADABLE = (SyntaxError, ValueError)


@dataclass(frozen=True)
class BelievableRules:
    """Which rules apply. `names`: no new undefined name, and no local that may be read before it is bound. `unused`: no
    new import, local or private definition that is not read. `stubs`: no new function or block that does nothing, no
    function that lost most of its statements, or the return at its end. `product`: no change in examples, documents,
    benchmarks or a file that a program wrote."""

    names: bool = True
    unused: bool = True
    stubs: bool = True
    product: bool = True


def faults(rules: BelievableRules, before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """The faults of a change of files, path by path. A file missing in `after` is deleted."""
    return tuple(
        f"{path}: {fault}"
        for path in sorted({*before, *after})
        for fault in _of_file(rules, path, before.get(path, ""), after.get(path))
    )


def faults_of_diff(rules: BelievableRules, diff: str, original: Callable[[str], str | None]) -> tuple[str, ...]:
    """The faults of a bug that applies to the original. `original`: path -> text of the original's file; None if there
    is none.

    Raises `PatchError`."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for section in patches.parse(diff):
        text = original(section.old_path) if section.old_path else None
        if text is not None and section.old_path:
            before[section.old_path] = text
        if section.new_path:
            after[section.new_path] = applied(text or "", section)
    return faults(rules, before, after)


def _of_file(rules: BelievableRules, path: str, before: str, after: str | None) -> Iterator[str]:
    if rules.product and not is_product(path):
        yield "is not code of the product"
    elif rules.product and is_generated(before or after or ""):
        yield "was written by a program"
    grammar = grammar_of(path)
    readable = path.endswith(".py") or grammar is not None
    if after is None or not readable or max(len(before), len(after)) > MOST_TEXT:
        return
    try:
        yield from _of_python(rules, before, after) if grammar is None else _of_tree(rules, grammar, before, after)
    except UNREADABLE:
        return  # newer or older Python: cannot be checked


def _of_python(rules: BelievableRules, before: str, after: str) -> Iterator[str]:
    was, was_unbound = loose_ends(before), maybe_unbound(before)
    try:
        now, unbound = loose_ends(after), maybe_unbound(after) - was_unbound
    except HeavySource as error:
        yield f"cannot be checked: {error}"
        return
    if rules.names:
        yield from (f"{name} is not defined" for name in sorted(now.undefined - was.undefined))
        yield from (f"the local {name} may be read before it is bound" for name in sorted(unbound))
    if rules.unused:
        yield from (f"the import {name} is not used" for name in sorted(now.unused - was.unused))
        yield from (f"the local {name} is not used" for name in sorted(now.dead - was.dead))
        yield from (f"the private {name} is not used" for name in sorted(now.orphans - was.orphans))
    if rules.stubs:
        yield from stubs(before, after)


def _of_tree(rules: BelievableRules, grammar: Grammar, before: str, after: str) -> Iterator[str]:
    """The same by tree-sitter. A name of a Go package may be defined in another file, so names of a new file are not
    reported."""
    was = names(grammar.name, before)
    try:
        now = names(grammar.name, after)
    except TooCostly as error:
        if rules.names:
            yield f"is {error}"
        return
    except Unreadable:
        if rules.names:
            yield "has a syntax error"
        return
    if rules.names and (before or grammar.name != "go"):
        yield from (f"{name} is not defined" for name in sorted(now.undefined - was.undefined))
    if rules.unused:
        for kind in ("import", "local", "function"):
            yield from (f"the {kind} {name} is not used" for name in sorted(now.of(kind) - was.of(kind)))
        methods = unnamed_methods(grammar.name, after) - unnamed_methods(grammar.name, before)
        yield from (f"the private method {name} is not used" for name in sorted(methods))
    if rules.stubs:
        yield from shapes.stubs(grammar.name, before, after)
