"""Which lines of a file are new."""

import time

import pytest

from selfplay.oracle.rewriting.new_lines import KnownLines, _where_known, fresh_lines, lines_of, ordered_lines

ORIGINAL = "def f(x):\n    y = []\n    if x:\n        y = []\n    return y"


def fresh(text: str, *known: str) -> list[int]:
    lines = lines_of(known[0])
    for one in known[1:]:
        lines = lines | lines_of(one)
    return sorted(fresh_lines(text, KnownLines(lines, tuple(map(ordered_lines, known)))))


def test_what_a_known_program_has_is_not_new() -> None:
    assert fresh(ORIGINAL, ORIGINAL) == []
    assert fresh("def f(x):\n    return 1", ORIGINAL) == [2]


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("def f(x):\n    y = []\n    if x:\n        y = []\n        y = []\n    return y", [5]),
        ("def f(x):\n    x = x or 1\n    y = []\n    if x:\n        y = []\n    return y", [2]),
        (
            "def f(x):\n    if x:\n        g(x)\n        y = []\n    y = []\n    if x:\n        y = []\n    return y",
            [2, 3, 4],
        ),
    ],
)
def test_of_equal_lines_the_added_one_is_new(text: str, new: list[int]) -> None:
    """The last one was, wherever a patch had put its own: a cheat was known, and an untouched line was blamed."""
    assert fresh(text, ORIGINAL) == new


def test_many_equal_lines_take_bounded_time() -> None:
    """`difflib` alone takes minutes for such texts; where it takes too long, the last ones are new."""
    one = "def f(x):\n" + "    a()\n    b()\n" * 3000 + "    return x"
    other = "def f(x):\n" + "    b()\n    a()\n" * 3002 + "    return x"
    assert len(fresh(other, one)) == 4


def test_many_functions_take_linear_time() -> None:
    """All lines of all files were gone through once for each function: 1.2 thousand million steps here."""
    one = [(f".f{number}", line) for number in range(20_000) for line in ("a()", "b()", "c()")]
    began = time.thread_time()
    assert len(_where_known(one, [one], {around for around, _ in one})) == len(one)
    assert time.thread_time() - began < 5
