"""A change outside of functions concerns those that use what it binds."""

import difflib

import pytest

from selfplay import patches
from selfplay.oracle.behaviour.traced_calls import _begun

TEXT = '''"""Words."""

import operator
import re
from typing import Optional

SIGN = "-"
_PARTS = SIGN + "_"
_WORD = re.compile(
    "[" + _PARTS + "]",
)


def place(index: Optional[int]):
    return operator.index(index)


def words(text):
    return _WORD.split(text)


def compared(operator):
    return operator


class Line:
    mark = "x"

    def sign(self):
        return SIGN
'''
PLACE, WORDS, COMPARED, SIGN = 14, 18, 22, 29


def begun(*pairs: tuple[str, str], of: str = TEXT) -> list[int]:
    """The first lines of the functions that count as changed."""
    text = of
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    lines = difflib.unified_diff(of.splitlines(True), text.splitlines(True), "a/one.py", "b/one.py")
    (section,) = patches.parse("diff --git a/one.py b/one.py\n" + "".join(lines))
    return _begun(section, of)


@pytest.mark.parametrize(("pairs", "firsts"), [
    ([("import operator\n", ""), ("operator.index(index)", "index")], [PLACE]),  # a parameter of that name is another
    ([("import operator\n", "import os\n")], [PLACE]),
    ([("return operator.index", "return 1 + operator.index"), ("Optional\n", "Any, Optional\n")], [PLACE]),
    ([('SIGN = "-"', 'SIGN = "+"')], [WORDS, SIGN]),  # by way of two other names
    ([('"]",\n', '"]+",\n')], [WORDS]),  # within a statement of several lines
    ([('"""Words."""', '"""All words."""'), ("split(text)", "split(text, 1)")], [WORDS]),
    ([("\n\ndef words", "\n\nNEW = 1\n\n\ndef words"), ("return operator\n", "return 1\n")], [WORDS, COMPARED]),
    ([('    mark = "x"', '    mark = "y"'), ("split(text)", "split(text, 1)")], []),  # all may count
    ([("import re\n", "import re\nprint(1)\n"), ("split(text)", "split(text, 1)")], []),
    ([('"""Words."""', '"""All words."""')], []),
], ids=range(10))  # fmt: skip
def test_the_functions_that_use_what_is_changed_count(pairs: list[tuple[str, str]], firsts: list[int]) -> None:
    assert begun(*pairs) == firsts


def test_a_name_that_classes_use_as_they_are_made_concerns_all() -> None:
    text = TEXT.replace('mark = "x"', "mark = SIGN")
    assert begun(('"-"', '"+"'), of=text) == []
