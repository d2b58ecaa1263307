"""Which lines of two texts are the same: what `difflib` says, and in bounded time also for texts made to hold it."""

import difflib
import random
import subprocess
import time
from pathlib import Path

import pytest

from selfplay.patches.line_diff import hunks, opcodes


def texts(seed: int) -> tuple[list[str], list[str]]:
    chosen = random.Random(seed)
    old = [f"{chosen.randrange(12)}\n" for _ in range(chosen.randrange(30))]
    new = list(old)
    for _ in range(chosen.randrange(6)):
        at = chosen.randrange(len(new) + 1)
        new[at : at + chosen.randrange(3)] = [f"{chosen.randrange(12)}\n" for _ in range(chosen.randrange(3))]
    return old, new


@pytest.mark.parametrize("seed", range(60))
def test_a_diff_turns_one_text_into_the_other(seed: int, tmp_path: Path) -> None:
    old, new = texts(seed)
    (tmp_path / "text").write_text("".join(old))
    found = "".join(hunks(old, new))
    assert bool(found) == (old != new)
    if found:
        applied = ["git", "apply", "--unidiff-zero", "-"]
        data = f"--- a/text\n+++ b/text\n{found}"
        if not new:
            data = f"diff --git a/text b/text\n{data}"
        subprocess.run(applied, input=data, text=True, cwd=tmp_path, check=True, timeout=10)
        left = (tmp_path / "text").read_text() if (tmp_path / "text").exists() else ""
        assert left == "".join(new)


@pytest.mark.parametrize("seed", range(20))
def test_changes_between_an_equal_beginning_and_end_are_those_of_difflib(seed: int) -> None:
    old, new = texts(seed)
    old, new = ["a\n", *old, "z\n"], ["b\n", *new, "y\n"]  # nothing to leave out
    assert opcodes(old, new) == difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([f"{n % 120}\n" for n in range(40_000)], [f"{n * 7 % 120}\n" for n in range(40_000)]),
        ([f"{n}\n" for n in range(40_000)], [f"{n}\n" for n in reversed(range(40_000))]),
        (["same\n", "x\n"] * 20_000, ["y\n", "same\n"] * 20_000),
    ],
    ids=["each line in one of a hundred places", "in reversed order", "one line everywhere"],
)
def test_texts_that_are_alike_everywhere_take_no_longer(old: list[str], new: list[str]) -> None:
    """40,000 lines took `export` many minutes: one pass for each block that is left, over all pairs in it."""
    start = time.thread_time()
    assert opcodes(old, new)
    assert time.thread_time() - start < 8
