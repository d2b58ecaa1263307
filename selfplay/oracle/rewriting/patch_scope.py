"""Finds what a patch does beyond the bug: it changes or removes a function, a class, a signature or a statement that
the bug left as it was, or newly runs code while a module is loaded.

A repair seldom needs either. What it breaks beside the bug, no test and no hidden input may see; and what runs while a
module is loaded would count as code that ran. So all that newly runs then must be inert (`inert.py`), wherever it
stands: statements, defaults, annotations, decorators, bases. Documentation, new annotations and layout do not count,
nor does what is moved to another file.
"""

import builtins
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from selfplay.oracle.rewriting.callable_as import takes_as
from selfplay.oracle.rewriting.definitions import Definitions, assigned, assigned_values, definitions_of
from selfplay.oracle.rewriting.inert import inert, wrapper
from selfplay.oracle.rewriting.patch_text import of_text

Key = TypeVar("Key")
Value = TypeVar("Value")
MOST_SHOWN = 60
"""Characters of a statement that are shown."""


def beyond(before: Mapping[str, str], after: Mapping[str, str], repaired: Mapping[str, str]) -> list[str]:
    """What a patch does beyond the bug, as sentences. All are path -> text: the buggy program, the patch's, the
    original. Raises `RecursionError` and `ValueError` for trees that cannot be written."""
    made = {path: definitions_of(path, text) for path, text in after.items()}
    anywhere, found = sum((one.others for one in made.values()), Counter[tuple[str, str]]()), list[str]()
    for path in sorted(made):
        known = [definitions_of(path, texts[path]) for texts in (repaired, before) if texts.get(path)]
        if len(known) == 2:
            found += [f"{path}: {said}" for said in _beyond(known, made[path], [*made.values()], anywhere)]
            found += [f"{path}: {said}" for said in of_text((repaired[path], before[path]), after[path])]
        else:
            new = made[path].others - sum((one.others for one in known), Counter[tuple[str, str]]())
            found += [f"{path}: {said}" for said in _loading(known, made[path], {*new})]
    return found


def _beyond(
    known: Sequence[Definitions], now: Definitions, every: Sequence[Definitions], anywhere: Counter[tuple[str, str]]
) -> Iterator[str]:
    """`every`: what all files of the patch define; `anywhere`: their statements outside of functions."""
    original, buggy = known
    renamed = {name for _, name in original.bound ^ buggy.bound}
    for name in _changed_alone(original.signatures, buggy.signatures, now.signatures):
        yield f"the signature of `{name}` is changed, which the bug left as it was"
    for name, defined in original.functions.items():
        if buggy.functions.get(name) != defined or now.functions.get(name) == defined:
            continue
        if name in now.functions:
            if not _uses(defined, renamed):
                yield f"`{name}` is changed, which the bug left as it was"
        elif not any(one.functions.get(name) == defined for one in every):
            yield f"`{name}` is gone, which the bug left as it was"
    for name in _changed_alone(original.classes, buggy.classes, now.classes):
        yield f"the bases or decorators of `{name}` are changed, which the bug left as they were"
    yield from _hidden(original, buggy, now)
    yield from _narrower(original, buggy, now)
    for name in sorted(now.own & original.taken - original.own - buggy.own):
        yield f"`{name}` is bound anew, which the file takes from elsewhere"
    for around, text in original.others & buggy.others:
        if not anywhere[around, text]:
            yield f"`{_short(text)}` is gone, which the bug left as it was"
    for name in sorted((original.offered & buggy.offered) - now.offered - {name for _, name in now.bound}):
        yield f"`{name}` is no longer offered, which the bug left as it was"
    new = {*(now.others - (original.others | buggy.others))}
    for around, text in sorted(new):
        names = assigned(now.nodes[around, text])
        if any((around, name) in original.bound for name in names):
            yield f"`{_short(text)}` stands outside of functions"
        elif around.removesuffix(".") in original.classes:
            yield f"`{_short(text)}` is new in a class that was there, and may hide what the class inherits"
    yield from _loading(known, now, new)


def _hidden(original: Definitions, buggy: Definitions, now: Definitions) -> Iterator[str]:
    """What other code meets without naming it: a method that the language calls, an annotation, another module under a
    name that was there."""
    every = now.bound | {("", name) for name in now.imports}
    known = original.bound | buggy.bound | {("", name) for one in (original, buggy) for name in one.imports}
    for around, last in sorted(every - known):
        if around and around.removesuffix(".") not in original.classes:
            continue
        if last.startswith("__") and last.endswith("__"):
            yield f"`{around}{last}` is new, and the language reads it"
        elif f"{around}{last}" in now.functions and _may_hide(around, last, now):
            yield f"`{around}{last}` is new, and may hide what was there"
    for name, argument in _changed_alone(original.hints, buggy.hints, now.hints):
        said = f"the annotation of `{argument}`" if argument else "that of what is returned"
        yield f"{said} is changed in `{name}`, which the bug left as it was"
    for name in _changed_alone(original.imports, buggy.imports, now.imports):
        yield f"`{name}` is imported from elsewhere, which the bug left as it was"
    gone = (original.imports.keys() & buggy.imports.keys()) - now.imports.keys() - {name for _, name in now.bound}
    for name in sorted(gone & now.used):
        yield f"`{name}` is no longer imported, and still used"


def _may_hide(around: str, name: str, now: Definitions) -> bool:
    """Whether a new function hides a built-in one, or, as a public method of a class with bases, an inherited one."""
    if not around:
        return hasattr(builtins, name)
    return not name.startswith("_") and any(now.classes.get(around.removesuffix("."), ()))


def _narrower(original: Definitions, buggy: Definitions, now: Definitions) -> Iterator[str]:
    """Functions whose signature the bug changed, and which do not take all that the original's take, as it does."""
    for name, before in original.arguments.items():
        if original.signatures[name] == buggy.signatures.get(name) or name not in now.arguments:
            continue
        if len(before) == len(now.arguments[name]) and not all(map(takes_as, now.arguments[name], before)):
            yield f"`{name}` does not take all arguments that the original takes, or takes them otherwise"


def _changed_alone(original: Mapping[Key, Value], buggy: Mapping[Key, Value], now: Mapping[Key, Value]) -> list[Key]:
    """What the bug left as it was, and the patch has otherwise; not what it has no more."""
    return [key for key, value in original.items() if buggy.get(key) == value != now.get(key, value)]


def _uses(defined: Sequence[str], names: set[str]) -> bool:
    """Whether a function uses one of these names, which the bug took away or brought: so it is of the bug, too."""
    return any(f"'{name}'" in text for text in defined for name in names)


def _loading(known: Sequence[Definitions], now: Definitions, new: set[tuple[str, str]]) -> Iterator[str]:
    """What newly runs while the file is loaded, and does more than hold values under new names."""
    for around, text in sorted(new):
        node = now.nodes[around, text]
        if not assigned(node):
            yield f"`{_short(text)}` stands outside of functions"
        elif not all(inert(one, now.own) for one in assigned_values(node)):
            yield f"`{_short(text)}` runs code while the module is loaded"
    for kind, harmless in (("heads", inert), ("decorators", wrapper)):
        had = {text for one in known for text in getattr(one, kind)}
        for text, expression in getattr(now, kind).items():
            if text not in had and not harmless(expression, now.own):
                yield f"`{_short(text)}` runs code while the module is loaded"


def _short(text: str) -> str:
    return " ".join(text.split())[:MOST_SHOWN]
