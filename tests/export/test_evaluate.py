"""What the shipped evaluation shows of the tests' output holds no marker of a grader, whatever a patch prints."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.export.inside.evaluate import shown

PIECES = st.lists(
    st.sampled_from([">", ">>", ">>>>>", " Start Test Output", "\r", "\n", "\x1b[0m", "\x1b[", "0m", "m", "\x85",
                     "\u2028", "\0", "short test ", "sum", "mary", "summary", " info", "PASSED t", "s"])
)  # fmt: skip


@given(PIECES)
def test_no_marker_is_left_in_a_line(pieces: list[str]) -> None:
    line = shown("".join(pieces).replace("\n", ""))
    for read in (line, re.sub(r"\x1b\[[0-9;]*m|\r", "", line), re.sub(r"[\x00-\x1f]", "", line)):
        assert ">>>>>" not in read and "summary" not in read
        assert len(read.splitlines()) == 1 and read.startswith("| ")


@pytest.mark.parametrize("line", ["FAILED (errors=1)", "E   assert 1 == 2  # naïve 日本", "  > raise ValueError()"])
def test_ordinary_lines_stay(line: str) -> None:
    assert shown(line) == f"| {line}"
