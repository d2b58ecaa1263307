import pytest

from selfplay.patches.lines import split_lines


@pytest.mark.parametrize("text", ["", "\n", "a", "a\n", "a\r\nb", "\x0ca\x0b\u2028b\n\n"])
def test_lines_put_together_are_the_text(text: str) -> None:
    assert "".join(split_lines(text)) == text
    assert len(split_lines(text)) == text.count("\n") + (not text.endswith("\n") and bool(text))
