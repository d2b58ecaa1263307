"""Counts as people say them."""

import pytest

from selfplay.formatting import and_more, count, difference, listed, spoken, tally


@pytest.mark.parametrize(("number", "said"), [(0, "0 files"), (1, "1 file"), (2, "2 files")])
def test_one_is_one(number: int, said: str) -> None:
    assert count(number, "file") == said
    assert count(2, "copy", "copies") == "2 copies" and count(1, "copy", "copies") == "1 copy"


@pytest.mark.parametrize(("number", "said"), [(0, ""), (1, ", and 1 more thing"), (2, ", and 2 more things")])
def test_after_the_first_of_several(number: int, said: str) -> None:
    assert and_more(number, "thing") == said


def test_a_tally_is_words_with_the_largest_first() -> None:
    assert tally({"invalid": 2, "gave_up": 40, "valid": 0}) == "40 gave up, 2 invalid"
    assert tally({"touches-tests": 1, "no world: a-b": 1}) == "1 no world: a-b, 1 touches tests"
    assert tally({}) == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "under 1 s"), (0.6, "1 s"), (59.6, "1 min 0 s"), (125, "2 min 5 s"), (3900, "1 h 5 min")],
)
def test_seconds_are_spoken(seconds: float, said: str) -> None:
    assert spoken(seconds) == said


def test_a_long_list_says_how_many_it_leaves_out() -> None:
    assert listed("abc") == "a, b, c"
    assert listed("abcd", most=2) == "a, b and 2 more"


def test_settings_that_differ_are_told_without_python() -> None:
    assert difference(3, 4) == ("3", "4") and difference("a", None) == ("'a'", "nothing")
    was = {"min_passing_tests": 5, "seconds": 90.0, "repeats": 2}
    assert difference(was, {**was, "min_passing_tests": 6}) == ("min passing tests 5", "min passing tests 6")
