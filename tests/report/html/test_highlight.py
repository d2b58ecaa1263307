"""Colours of code: what is coloured, and that no text takes long."""

import time

import pytest

from selfplay.report.html import highlight
from selfplay.report.html.highlight import LONGEST_BLOCK, runs


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highlight, "_slow", set())


def test_a_block_is_coloured_and_a_long_one_is_not() -> None:
    assert runs("a.py", ["def f(x):", "    return 1"]) == ["k3.1f1", ".4k6.1n1"]
    assert runs("a.txt", ["def f(x):"]) == [""] and runs("a.py", ["x = 1"] * LONGEST_BLOCK) == [""] * LONGEST_BLOCK


WORDS = ("fn ", "'", '"', "`", "(", "<", "/*", "{", "a.", "0x", "\\", "#", "$(", "[[")


@pytest.mark.slow
@pytest.mark.parametrize("ending", sorted(highlight.LANGUAGES))
def test_no_text_takes_long_again_and_again(ending: str) -> None:
    """A diff of 56 kB with one word over and over took 45 s: Pygments takes the square of its length."""
    for word in WORDS:
        highlight._slow.clear()
        began = time.thread_time()
        for number in range(8):  # blocks that are not the same
            runs(f"a.{ending}", [(word * 400)[:399]] * (LONGEST_BLOCK // 400 - 1) + [f"{number}"])
        assert time.thread_time() - began < 1.5, word
