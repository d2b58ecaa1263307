"""A secret name is told from every other by what an id contains."""

import string
from itertools import permutations, product
from pathlib import Path

import pytest

from selfplay.oracle.errors import OracleError
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


def test_names_drawn_together_differ_from_each_other_and_from_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two words give 16 names, of which the text has 8: one drawn without looking stands in it half of the time."""
    monkeypatch.setattr(secret_names, "_COMMON", ("one", "two"))
    text = "\n".join(f"one_{'_'.join(rest)}()" for rest in product(("one", "two"), repeat=3))
    for _ in range(50):
        drawn = secret_names.secret_names(4, text)
        assert len({*drawn}) == 4 and not [name for name in drawn if name in text]


@pytest.mark.parametrize("length", [0, 15])
def test_where_the_text_has_all_names_one_has_more_words(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    """All names of four of the common words take 2 MB of tests: a name was looked for without end."""
    monkeypatch.setattr(secret_names, "_COMMON", ("one", "two"))
    text = " ".join("_".join(name) for name in product(("one", "two"), repeat=4))
    assert secret_name((), text, length=length).count("_") >= 4


def test_where_other_names_are_parts_of_any_there_is_none() -> None:
    with pytest.raises(OracleError, match="so short that no other name can be told from them"):
        secret_name((), names=string.ascii_lowercase)


def test_nothing_of_the_judge_waits_without_end() -> None:
    """A loop that ends by chance ends never where a stranger has taken all chances."""
    judge = Path(secret_names.__file__).parents[1]
    sources = [path for path in judge.rglob("*.py") if path.parent.name != "inside"]
    assert len(sources) > 80
    assert [path.name for path in sources if "while True" in path.read_text()] == []
