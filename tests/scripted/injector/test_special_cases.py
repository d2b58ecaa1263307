"""A removal leaves out what few inputs need: which lines run in one case alone, and what goes together."""

import ast
import random
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.patches.lines import split_lines
from selfplay.scripted.edits.cuts import Cut
from selfplay.scripted.injector.removal import removal_cuts
from selfplay.scripted.injector.special_cases import special, together
from selfplay.scripted.injector.survey import Target

TEXT = dedent("""
    def f(a, b):
        c = g(a)
        if c is None:
            return b
        if a == 1:
            c = 2
        elif a == 2:
            c = 3
            h(c)
        else:
            c = 4
        try:
            c = i(c)
        except KeyError:
            c = 5
        return c.strip()
    """).lstrip("\n")


def cases(text: str) -> set[tuple[str, tuple[int, int] | None]]:
    """What each cut does, and the lines that run in its case alone."""
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    return {(cut.what, cut.case) for cut in removal_cuts(function, split_lines(text))}


@pytest.mark.parametrize(
    ("what", "case"),
    [
        ("removed a condition", (4, 4)),
        ("removed a branch of a condition", (6, 6)),
        ("removed an else branch", (11, 11)),
        ("removed error handling", (15, 15)),
        ("left out .strip()", (0, 0)),
        ("removed 2 statements", None),
    ],
)
def test_the_lines_of_a_case(what: str, case: tuple[int, int] | None) -> None:
    assert (what, case) in cases(TEXT)


def test_what_is_made_for_a_condition_alone_belongs_to_its_case() -> None:
    text = "def f(a):\n    k(a)\n    m = g(a)\n    if m:\n        h(m)\n    return a\n"
    assert ("removed 2 statements", (5, 5)) in cases(text)
    assert ("removed 3 statements", (5, 5)) not in cases(text)  # the first one says what is always done


def test_a_case_is_one_that_some_tests_run_and_at_most_half() -> None:
    """Of four tests one runs line 2, three run line 4, and none runs line 6."""
    ran = {2: {1}, 4: {1, 2, 3}, 6: set[int]()}
    survey: Any = SimpleNamespace(tests_of=lambda path, start, end: ran[start])
    target = Target("a.py", "f", 1, 9, frozenset([1, 2, 3, 4]))
    rare, usual, unseen = (Cut(line - 1, line, case=(line, line)) for line in ran)
    part, main = Cut(7, 7, ("x",), case=(0, 0)), Cut(8, 9)
    assert special(survey, target, [rare, usual, unseen, part, main]) == [rare, part]


WORDS = {1: {"tax", "rate"}, 4: {"tax"}, 8: {"name"}, 12: {"rate"}}


def told(cuts: Any) -> frozenset[str]:
    return frozenset().union(*(WORDS[cut.start] for cut in cuts))


def test_cuts_that_share_no_rare_name_do_not_go_together() -> None:
    cuts = [Cut(1, 3), Cut(4, 5), Cut(8, 10), Cut(12, 14)]
    for seed in range(20):
        chosen = together(cuts, told, (), 9, random.Random(seed))
        assert {cut.start for cut in chosen} in ({8}, {1, 4}, {1, 12}, {1, 4, 12}, {4, 1}, {12, 1})


def test_what_joins_others_shares_a_name_and_leaves_room() -> None:
    assert together([Cut(4, 5), Cut(8, 10)], told, [Cut(1, 3)], 9, random.Random(1)) == (Cut(4, 5),)
    assert together([Cut(4, 5)], told, [Cut(1, 3)], 4, random.Random(1)) == ()
