"""Hiding the bug (SSR section 2, `test_weaken.diff`): loosen what would catch it and leave the other tests unchanged.

Four methods, per failing test function: remove its failing cases (parameters); remove its assertions from the failing
one on; loosen the failing assertion (`loosen.py`); remove the test, or leave it out of the class in which it fails
where others inherit it (`inherited.py`). If a method does not fit a test, the next one is taken. A test that failed
outside an assertion is first ended before that statement, or loses it, and removed only if that does not fit: a
loosened test still constrains the solver. What a later statement needs does not go alone (`acting.py`): the weakened
tests pass on the repaired program. A removed test or case is certainly hidden, and so is one that ends before
its failure; after other edits the tests are run again.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from selfplay.patches.lines import split_lines
from selfplay.python_source import shared_tree
from selfplay.scripted.edits.cuts import (
    Cut,
    PlantedChange,
    change,
    cuts_between,
    first_line,
    indent_of,
    with_comments,
)
from selfplay.scripted.edits.names import Function
from selfplay.scripted.injector.acting import acts_on_the_rest
from selfplay.scripted.injector.cases import case_cuts
from selfplay.scripted.injector.inherited import Heir, heirs
from selfplay.scripted.injector.loosen import (
    BLOCKS,
    assertion_cuts,
    ends_before,
    is_assertion,
    loosened,
    shortened,
    without_failing,
)

Method = Literal["remove", "cases", "assertions", "loosen", "end"]
METHODS: tuple[Method, ...] = ("remove", "cases", "assertions", "loosen")
"""The methods that are drawn; `end` is tried additionally."""
WEIGHTS, STRICT = (1, 4, 6, 4), (1, 4, 10, 0)
LOOSE_SHARE = 0.4
"""How often assertions are loosened too: it takes a look at the tests, which leaving them out often saves."""
Place = tuple[str, int]
"""Where a test function is: its file and its first line."""


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


@dataclass(frozen=True)
class Weakened:
    """The changes that hide some failures, and the test functions for which a run must confirm it."""

    changes: tuple[PlantedChange, ...]
    uncertain: frozenset[Place]


def choose_methods(failures: Sequence[Failure], rng: random.Random) -> dict[Place, Method]:
    """A method for each failing test function."""
    places = dict.fromkeys((failure.path, failure.line) for failure in failures)
    weights = WEIGHTS if rng.random() < LOOSE_SHARE else STRICT
    return {place: rng.choices(METHODS, weights=weights)[0] for place in places}


def ends(failures: Sequence[Failure]) -> dict[Place, Method]:
    """The method that certainly hides each."""
    return {(failure.path, failure.line): "end" for failure in failures}


def weaken(
    texts: Mapping[str, str],
    failures: Sequence[Failure],
    methods: Mapping[Place, Method],
    passing: Collection[str] = (),
) -> Weakened | None:
    """The changes of test files that hide `failures`; None when a failing test cannot be found in its file, or cannot
    go without one of the `passing` tests."""
    weakening = _Weakening(texts, methods, passing)
    for path in dict.fromkeys(failure.path for failure in failures):
        if path not in texts or not weakening.hide(path, [f for f in failures if f.path == path]):
            return None
    return weakening.done()


def weakened_more(
    texts: Mapping[str, str], changes: Sequence[PlantedChange], failures: Sequence[Failure], passing: Collection[str]
) -> tuple[PlantedChange, ...] | None:
    """Changes that hide the `failures` that remain or are new after these changes: assertions are left out, tests end
    earlier or are removed. None if that would remove one of the `passing` tests."""
    now = {**texts, **{change.path: change.after or "" for change in changes}}
    methods: dict[Place, Method] = dict.fromkeys(ends(failures), "assertions")
    more = weaken(now, failures, methods, passing)
    if more and more.uncertain:
        more = weaken(now, failures, {**methods, **dict.fromkeys(more.uncertain, "end")}, passing)
    return more.changes if more else None


def joined(earlier: Sequence[PlantedChange], later: Sequence[PlantedChange]) -> tuple[PlantedChange, ...]:
    """Two successive sets of changes, as one change of each file."""
    found = {made.path: made for made in earlier}
    for made in later:
        first = found.get(made.path, made)
        after = made.after or ""
        cuts = made.cuts if first is made else cuts_between(first.before, after)
        found[made.path] = PlantedChange(made.path, first.before, after, cuts, made.what)
    return tuple(found.values())


class _Weakening:
    """Cuts in the making, by file: `missing` are the inherited tests that a class goes without."""

    def __init__(self, texts: Mapping[str, str], methods: Mapping[Place, Method], passing: Collection[str]) -> None:
        self.texts, self.methods, self.passing = texts, methods, passing
        self.cuts = defaultdict[str, list[Cut]](list)
        self.missing = defaultdict[Heir, list[str]](list)
        self.uncertain: set[Place] = set()

    def hide(self, path: str, failures: Sequence[Failure]) -> bool:
        """Hide what fails in the tests of one file, if that can be done."""
        tree, lines = shared_tree(self.texts[path]), split_lines(self.texts[path])
        found, removed = _functions(tree, failures), list[Function]()
        for function, failing in found or ():
            place = (path, failing[0].line)
            edits, certain = _edits(self.methods.get(place, "remove"), function, failing, lines)
            self.cuts[path] += edits
            if not certain:
                self.uncertain.add(place)
            without = [] if edits else heirs(self.texts, path, function, [f.id for f in failing], self.passing)
            if without is None:
                return False
            for heir in without:
                self.missing[heir].append(function.name)
            if not edits and not without:
                removed.append(function)
        self.cuts[path] += _removals(tree, removed, lines)
        return found is not None

    def done(self) -> Weakened | None:
        for heir, tests in self.missing.items():
            self.cuts[heir.path].append(heir.without(tests))
        made = [change(path, self.texts[path], cuts) for path, cuts in self.cuts.items() if cuts]
        changes = tuple(one for one in made if one)
        return Weakened(changes, frozenset(self.uncertain)) if changes and None not in made else None


def _functions(tree: ast.Module, failures: Sequence[Failure]) -> list[tuple[Function, list[Failure]]] | None:
    """The functions behind failures; None when one cannot be found."""
    found: dict[int, tuple[Function, list[Failure]]] = {}
    for failure in failures:
        function = _find(tree, failure)
        if function is None:
            return None
        found.setdefault(function.lineno, (function, []))[1].append(failure)
    return list(found.values())


def _find(tree: ast.Module, failure: Failure) -> Function | None:
    """The function behind a test id: by name and first line (on current Pythons that of its first decorator)."""
    for node in ast.walk(tree):
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == failure.name
        if named and first_line(node) <= failure.line <= (node.end_lineno or 0):  # type: ignore[arg-type,attr-defined]
            return node  # type: ignore[return-value]
    return None


def _edits(
    method: Method, function: Function, failing: Sequence[Failure], lines: Sequence[str]
) -> tuple[list[Cut], bool]:
    """Cuts inside the function, by the method or the next that fits, and whether they certainly hide the failures;
    without any the function is to be removed."""
    crashes = [failure.crash for failure in failing]
    methods: dict[Method, Callable[[], list[Cut]]] = {
        "cases": lambda: case_cuts(function, [one.indices for one in failing], lines),
        "assertions": lambda: assertion_cuts(function, crashes, lines),
        "loosen": lambda: loosened(function, crashes, lines),
    }
    if method == "end":
        return shortened(function, crashes, lines), True
    if method == "remove":
        return [], True
    if method != "loosen" and sum(map(is_assertion, ast.walk(function))) < 2:
        del methods["loosen"]
    for name in sorted(methods, key=lambda way: way != method):
        cuts = methods[name]()
        if cuts and not acts_on_the_rest(function, cuts):
            return cuts, name == "cases" or ends_before(function, crashes, cuts)
    cuts = shortened(function, crashes, lines) or without_failing(function, crashes, lines)
    if acts_on_the_rest(function, cuts):
        return [], True
    return cuts, not cuts or ends_before(function, crashes, cuts)


def _removals(tree: ast.Module, removed: Sequence[ast.stmt], lines: Sequence[str]) -> list[Cut]:
    """Remove whole functions with their comments; a class that loses everything keeps a `pass`."""
    cuts = list[Cut]()
    if not removed:
        return cuts
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
