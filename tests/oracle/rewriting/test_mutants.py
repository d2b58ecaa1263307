"""Mutants are small, one at a time, and none of them where nothing would show it."""

import ast
import asyncio.base_events
import builtins
import dataclasses
import inspect
import time
import typing
from itertools import islice
from typing import Any

import pytest

from selfplay.oracle.rewriting import mutants
from selfplay.oracle.rewriting.mutant_schema import PLAIN

TEXT = '''import warnings

LIMIT = 3


def shares(base, parts=2, *, strict=True):
    """Parts of a number."""
    if strict and parts < LIMIT:
        warnings.warn("few")
        raise ValueError(f"cannot share among {parts}")
    found = sorted([base + at for at in range(parts)], reverse=strict)
    return found[1:]


def other(text):
    return text.strip().split(",", 1)
'''
LINES = frozenset(range(1, 99))


def with_mutants(*given: Any, **named: Any) -> tuple[str, list[str]]:
    """The text, and what each mutant changes, in words."""
    text, placed = mutants.with_mutants(*given, **named)
    return text, [one.words for one in placed]


def of(number: int, text: str, name: str, *given: Any, **named: Any) -> Any:
    """What the function returns in this mutant, or the name of its exception."""
    space: dict[str, Any] = {}
    space["__builtins__"] = {**vars(builtins), PLAIN.chosen: number, PLAIN.first: lambda items: islice(items, 2)}
    exec(compile(text, "mutants", "exec"), space)
    try:
        return space[name](*given, **named)
    except Exception as error:
        return type(error).__name__


def test_each_mutant_is_one_small_change() -> None:
    """Neither the constant of the module, nor the warning, nor what the error says, nor a default is changed."""
    text, words = with_mutants(TEXT, LINES, 99, 1)
    assert set(words) == {
        "without `if strict and parts < LIMIT:`", "`True` for `strict and parts < LIMIT`",
        "`False` for `strict and parts < LIMIT`", "`strict` for `strict and parts < LIMIT`",
        "`parts < LIMIT` for `strict and parts < LIMIT`", "`parts <= LIMIT` for `parts < LIMIT`",
        "without `raise ValueError(f'cannot share among {parts}')`",
        "without `found = sorted([base + at for at in range(parts)], reverse=s`",
        "`sorted([base + at for at in range(parts)])` for `sorted([base + at for at in range(parts)], reverse=strict)`",
        "`base` for `base + at`", "`at` for `base + at`", "`parts` for `range(parts)`",
        "only the first items of `range(parts)`", "without `return found[1:]`", "`found[:]` for `found[1:]`",
        "`2` for `1`", "without `return text.strip().split(',', 1)`", "`text` for `text.strip()`",
        "`text.strip().split(',')` for `text.strip().split(',', 1)`", "`''` for `','`",
        "`text.strip().rsplit(',', 1)` for `text.strip().split(',', 1)`",
    }  # fmt: skip
    assert of(0, text, "shares", 5, 4) == of(0, TEXT, "shares", 5, 4) == [7, 6, 5]
    assert of(0, text, "other", " a,b,c ") == ["a", "b,c"]


@pytest.mark.parametrize(("words", "name", "given", "said"), [
    ("`parts <= LIMIT` for `parts < LIMIT`", "shares", (5, 3), "ValueError"),
    ("`found[:]` for `found[1:]`", "shares", (5, 3), [7, 6, 5]),
    ("only the first items of `range(parts)`", "shares", (5, 3), [5]),
    ("without `return found[1:]`", "shares", (5, 3), None),
    ("`text.strip().rsplit(',', 1)` for `text.strip().split(',', 1)`", "other", ("a,b,c",), ["a,b", "c"]),
], ids=["boundary", "slice", "loop", "statement", "end"])  # fmt: skip
def test_only_the_chosen_mutant_runs(words: str, name: str, given: tuple[Any, ...], said: Any) -> None:
    text, every = with_mutants(TEXT, LINES, 99, 1, first=40)
    assert of(40 + every.index(words), text, name, *given) == said != of(0, text, name, *given)


@pytest.mark.parametrize(("line", "words"), [
    ("return x.split(',')", {"`''` for `','`"}),
    ("y: int\n    return None", set()),
    ("assert x, 'said'", {"without `assert x, 'said'`", "`True` for `x`", "`False` for `x`"}),
    ("return [x[0:], x.get('k', None)][1]", {"`2` for `1`", "`''` for `'k'`", "`1` for `0`"}),
    ("for y in x:\n        continue", {"without `for y in x:`", "only the first items of `x`"}),
], ids=["ends", "nothing", "said", "defaults", "continue"])  # fmt: skip
def test_what_changes_nothing_is_no_mutant(line: str, words: set[str]) -> None:
    every = set(with_mutants(f"def f(x):\n    {line}\n", LINES, 99, 1)[1])
    assert {one for one in every if not one.startswith("without `return")} == words


def test_all_lines_of_a_head_count_and_those_of_what_handles_an_error() -> None:
    text = "def f(a, b):\n    try:\n        if (a\n          and b < 3):\n            g()\n    except E:\n        g()\n"
    assert "`b <= 3` for `b < 3`" in with_mutants(text, {4}, 99, 1)[1]
    assert with_mutants(text, {6}, 99, 1)[1] == ["without `try:`"]


def test_a_mutant_is_known_by_the_line_where_it_is_asked_for() -> None:
    """That of its statement: marks of lines that run stand before statements."""
    text = "def f(a, b):\n    return g(\n        a,\n        key=b,\n    )\n"
    assert {(one.line, one.statement) for one in mutants.with_mutants(text, {3, 4}, 9, 1)[1]} == {(2, "    return g(")}


@pytest.mark.parametrize("text", [
    "def f(x):\n    return " + " + ".join(["x"] * 5000) + "\n",
    "def f(x):\n    return dict(" + ", ".join(f"a{at}=x" for at in range(1000)) + ")\n",
    "def f(x):\n    if x == 0:\n        g()\n" + "".join(f"    elif x == {at}:\n        g()\n" for at in range(900)),
    "def f(x):\n" + "    x = x + 1\n" * 20_000,
], ids=["sum", "keywords", "elif", "lines"])  # fmt: skip
def test_a_large_file_takes_little_time(text: str) -> None:
    """Without copies of all that is not chosen: 990 branches took a minute, 300 keywords 19 s."""
    began = time.process_time()
    with_mutants(text, frozenset(range(1, 99_999)), 32, 1)
    assert time.process_time() - began < 8


def test_only_changed_lines_have_mutants() -> None:
    assert with_mutants(TEXT, {3, 6, 7}, 99, 1) == (TEXT, [])
    assert with_mutants(TEXT, {12}, 99, 1)[1] and len(with_mutants(TEXT, LINES, 5, 1)[1]) == 5


def test_what_cannot_be_parsed_or_written_has_none() -> None:
    deep = "def f():\n    return " + "-" * 900 + "1\n"
    for text in ("def f(:\n", deep):
        assert with_mutants(text, LINES, 9, 1) == (text, [])


def test_every_mutant_of_python_itself_can_be_written() -> None:
    """Of modules with most of the language's forms."""
    for module in (ast, typing, asyncio.base_events, dataclasses):
        text, words = with_mutants(inspect.getsource(module), frozenset(range(1, 9999)), 9999, 1)
        compile(text, "mutants", "exec")
        assert len(words) > 500
