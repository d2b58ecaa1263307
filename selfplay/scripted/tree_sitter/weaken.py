"""Hiding the bug in the tests of a file: cases of a table, assertions, a weaker assertion, or the test itself.

As in Python (`injector/weaken.py`): one method for each failing test, or the next that fits; a run tells whether the
tests are hidden.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tree_sitter import Node

from selfplay.believable import BelievableRules
from selfplay.scripted.edits.cuts import LONGEST_LINE, Cut, PlantedChange, apply_cuts
from selfplay.scripted.tree_sitter.acting import acts_on_the_rest
from selfplay.scripted.tree_sitter.cases import Case, case_of, cases, subtest_name
from selfplay.scripted.tree_sitter.edits import made_of
from selfplay.scripted.tree_sitter.loosen import GO_LOGS, assertions, loosened
from selfplay.scripted.tree_sitter.spans import element, replaced, without
from selfplay.syntax import Source, parse
from selfplay.syntax.grammar import language_of, walk
from selfplay.syntax.source import Unreadable, first_line, last_line, statements

Method = Literal["remove", "cases", "assertions", "loosen"]
METHODS: tuple[Method, ...] = ("cases", "loosen", "assertions", "remove")
WEIGHTS = (4, 6, 4, 2)
RULES = BelievableRules(stubs=False, product=False)
"""Of a test: no loose names. It may well do less than before."""


@dataclass(frozen=True)
class SuiteFailure:
    """A failing test: its file, its name as reported, and the lines of the file that the log names."""

    path: str
    name: str
    lines: frozenset[int]


def choose_methods(failures: Sequence[SuiteFailure], rng: random.Random) -> dict[SuiteFailure, Method]:
    """A method for each failing test."""
    return {failure: rng.choices(METHODS, weights=WEIGHTS)[0] for failure in failures}


def weaken(path: str, text: str, methods: Mapping[SuiteFailure, Method]) -> PlantedChange | None:
    """The change of a test file that hides its failing tests; None if one cannot be found or the file would be
    broken."""
    try:
        source = parse(language_of(path), text)
    except Unreadable:
        return None
    every = cases(source)
    places: dict[int, tuple[Case, list[SuiteFailure]]] = {}
    for failure in methods:
        case = case_of(every, failure.name, failure.lines)
        if case is None:
            return None
        places.setdefault(case.node.start_byte, (case, []))[1].append(failure)
    found = [cut for case, failing in places.values() for cut in _cuts(source, case, failing, methods[failing[0]])]
    chosen = _apart(found)
    what = "; ".join(dict.fromkeys(cut.what for cut in chosen))
    return made_of(path, text, apply_cuts(text, chosen), what, RULES) if chosen else None


def _apart(cuts: Sequence[Cut]) -> list[Cut]:
    """The cuts without overlaps: neighbours that share a blank line are removed together, and of others the first in
    the text is made."""
    chosen: list[Cut] = []
    for cut in sorted(cuts, key=lambda cut: (cut.start, -cut.end)):
        last = chosen[-1] if chosen else None
        if last is None or not cut.overlaps(last):
            chosen.append(cut)
        elif not cut.lines and not last.lines:
            chosen[-1] = Cut(last.start, max(last.end, cut.end), (), last.what)
    return chosen


def _cuts(source: Source, case: Case, failing: Sequence[SuiteFailure], method: Method) -> list[Cut]:
    """The cuts of one test by the method, or by the next that fits; removal last. None in lines that are very long, of
    which each cut would hold a copy."""
    if any(len(line) > LONGEST_LINE for line in source.lines[first_line(case.node) - 1 : last_line(case.node)]):
        return []
    lines = frozenset(line for one in failing for line in one.lines)
    methods: dict[Method, Callable[[], list[Cut]]] = {
        "cases": lambda: _entries(source, case, failing),
        "loosen": lambda: _looser(source, case, lines),
        "assertions": lambda: _fewer(source, case, lines),
        "remove": lambda: _whole(source, case),
    }
    order: list[Method] = [method, *(way for way in METHODS if way != method)]
    return next((cuts for way in order if (cuts := methods[way]())), [])


def _whole(source: Source, case: Case) -> list[Cut]:
    cut = without(source, [case.node], "removed a test")
    return [cut] if cut is not None else []


def _fewer(source: Source, case: Case, lines: frozenset[int]) -> list[Cut]:
    """Without the assertions from the first failing one on; where none would be left, without the failing ones."""
    every = assertions(source, case.body)
    failing = [node for node in every if any(first_line(node) <= line <= last_line(node) for line in lines)]
    if not failing:
        return []
    first = failing[0].start_byte
    gone = [node for node in every if node.start_byte >= first] if every[0].start_byte < first else failing
    if len(gone) == len(every) or _fills(source, gone) or acts_on_the_rest(source, case.body, gone):
        return []
    cuts = [without(source, [node], "removed an assertion") for node in gone]
    return [cut for cut in cuts if cut is not None] if all(cuts) else []


def _fills(source: Source, nodes: Sequence[Node]) -> bool:
    """Whether one of these statements is the only one of its block, which would be left empty."""
    holders = {holder.id: holder for node in nodes if (holder := source.parent(node)) is not None}
    return any(len(statements(holder, source.grammar)) == 1 for holder in holders.values())


def _looser(source: Source, case: Case, lines: frozenset[int]) -> list[Cut]:
    """The failing assertions, each made weaker. One that only logs asserts no more: another must be left then."""
    found, asserting = [], 0
    for node in assertions(source, case.body):
        failing = any(first_line(node) <= line <= last_line(node) for line in lines)
        options = loosened(source, node) if failing else []
        if failing and not options:
            return []
        if failing:
            found.append(replaced(source, *options[0], "loosened an assertion"))
        asserting += not failing or options[0][2] not in GO_LOGS.values()
    return found if asserting else []


def _entries(source: Source, case: Case, failing: Sequence[SuiteFailure]) -> list[Cut]:
    """The rows of a Go test's table that failing subtests are named after."""
    names = {one.name.rpartition("/")[2] for one in failing if "/" in one.name}
    rows = (
        [node for node in walk(_around(source, case)) if node.type == "literal_element" and _is_row(node)]
        if names
        else []
    )
    gone = [row for row in rows if any(subtest_name(title) in names for title in _titles(source, row))]
    if not gone or len(gone) < len(names) or len(gone) == len(rows):
        return []
    return [replaced(source, *element(source, row), "", "removed a case") for row in gone]


def _around(source: Source, case: Case) -> Node:
    """The function that a case and its table stand in."""
    node = case.node
    while node.type != "function_declaration" and (holder := source.parent(node)) is not None:
        node = holder
    return node


def _is_row(node: Node) -> bool:
    return node.named_child_count == 1 and node.named_children[0].type in ("literal_value", "composite_literal")


def _titles(source: Source, row: Node) -> list[str]:
    """The texts that stand in a row itself: one of them is its name."""
    return [
        source.said(node)[1:-1]
        for node in walk(row)
        if node.type in ("interpreted_string_literal", "raw_string_literal")
    ]
