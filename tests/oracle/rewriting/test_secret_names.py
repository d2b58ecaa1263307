"""A secret name is told from every other by what an id contains."""

from itertools import permutations

import pytest

from selfplay.oracle.rewriting import secret_names
from selfplay.oracle.rewriting.secret_names import remembered, secret_name


def test_no_name_lies_in_another() -> None:
    """Names of given lengths cut or repeat their last word; with few words to draw from, one soon continued another,
    and what was counted under the shorter one held for both."""
    for _ in range(20):
        drawn = list[str]()
        for number in range(200):
            drawn.append(secret_name((), names=drawn, joint=" ", length=17 + number % 20))
        assert not [(one, other) for one, other in permutations(drawn, 2) if one in other]


def test_nor_in_one_of_another_file() -> None:
    words = ("a", "ab", "aba", "bab", "abab")
    with pytest.MonkeyPatch.context() as patch, remembered() as drawn:
        patch.setattr(secret_names, "_COMMON", ())
        for _ in range(20):
            secret_name(words, joint="")
    assert len(drawn) == 20 and not [(one, other) for one, other in permutations(drawn, 2) if one in other]
