"""Calls in which one thing alone is out of the ordinary."""

import ast
import re

from selfplay.oracle.behaviour.call_source import target_of
from selfplay.oracle.behaviour.single_changes import MOST, single_changes

CALLS = ["m.merge(m.Trie({'a': 7}), m.Trie(sep='/'))", "m.Span(days=3, seconds=2.5)", "m.plain()"]
MADE = single_changes(CALLS, 1)


def test_each_is_a_call_of_the_same_function() -> None:
    assert {target_of(one) for one in MADE} == {"m.merge", "m.Span"}
    assert not {*MADE} & {*CALLS} and len(MADE) <= 3 * MOST
    assert single_changes(CALLS, 1) == MADE and single_changes([], 1) == []


def test_an_object_is_of_a_class_that_derives_from_its_own() -> None:
    """A repair that asks for the exact class answered all other calls as the original did."""
    derived = [one for one in MADE if "type(" in one]
    assert any(one.count("type(") == 1 and one.endswith("m.Trie(sep='/'))") for one in derived)
    assert any("(m.Span,), {})(days=3, seconds=2.5)" in one for one in derived)
    for one in derived:
        ast.parse(one)


def test_a_value_is_false_alone() -> None:
    """`if overwrite and node.value` lost 0, None and the empty text."""
    alone = [f"m.merge(m.Trie({{'a': {one}}}), m.Trie(sep='/'))" for one in ("0", "None", "''", "[]", "False")]
    assert len({*alone} & {*MADE}) > 1


def test_numbers_are_tiny_or_huge_or_one_of_both() -> None:
    """Floats lose microseconds from some years on, and write small numbers otherwise."""
    found = [re.fullmatch(r"m.Span\(days=([\d.e-]+), seconds=([\d.e-]+)\)", one) for one in MADE]
    pairs = [(float(one[1]), float(one[2])) for one in found if one]
    huge, tiny = [max(pair) > 10**6 for pair in pairs], [0 < min(pair) < 2 for pair in pairs]
    both = [*zip(huge, tiny, strict=True)]
    assert (True, True) in both and (True, False) in both and (False, True) in both
