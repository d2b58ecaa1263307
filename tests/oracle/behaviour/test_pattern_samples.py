"""Texts for the patterns of a program match them, and no pattern takes long."""

import random
import re
import time

import pytest

from selfplay.oracle.behaviour.pattern_samples import LONGEST_SAMPLE, sample, samples


@pytest.mark.parametrize("pattern", [
    r"\x1b\]66;(?P<meta>[^;\x07\x1b]*)(?:;(?P<text>[^\x07\x1b]*))?(?P<end>\x07|\x1b\\)",
    r"[+|-][0-9]{2}(?::?[0-9]{2})?",
    r"(a|b)+?x\1{2}", r"\d+\s\w\.[^\W\d_]{2,}", r"(?i)x{2,5}[^a-z]$", r"[\w.]+@\w+\.(?:com|org)",
    r"\S\D\W", r"(?>ab|c)*+d",
])  # fmt: skip
def test_a_sample_matches(pattern: str) -> None:
    found = samples([pattern], 8)
    assert len(found) > 2
    assert sum(re.search(pattern, one) is not None for one in found) >= len(found) - 1


def test_a_plain_text_and_what_is_no_pattern_have_none() -> None:
    assert samples(["plain text", "100% (", "[", "*"], 4) == []


@pytest.mark.parametrize("pattern", ["((a{60}){60}){60}", "a{1000000}", "(" * 400 + "a" + ")" * 400, "(a*)*" * 300])
def test_no_pattern_takes_long(pattern: str) -> None:
    began = time.process_time()
    assert all(len(one) <= LONGEST_SAMPLE for one in samples([pattern], 4))
    assert time.process_time() - began < 1


def test_parts_that_may_be_there_are_there_sometimes() -> None:
    made = {sample("a(?:b)?(c|d)", random.Random(seed)) for seed in range(60)}
    assert made == {"ac", "ad", "abc", "abd"}
