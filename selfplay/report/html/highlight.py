"""Colours of code in diffs, by Pygments, as runs of one letter and a length: `k3.1f5` is a keyword of three characters,
one plain character and a function's name of five.

Paths and lines are untrusted. So the lexer comes from a list of common ones, and text that would make it slow (long
lines, long blocks) stays plain. Some lexers take the square of a block's length in time: one that was slow is not asked
again by this process.
"""

import time
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token

LONGEST_LINE, LONGEST_BLOCK = 400, 4_000
"""The most characters of a line, and of one side of a hunk."""
SLOW = 0.05
"""Seconds of a core for one block, of which an ordinary one takes a tenth."""
PLAIN = "."
LETTERS: Sequence[tuple[Any, str]] = (
    (Token.Comment, "c"), (Token.Keyword, "k"), (Token.Literal.Number, "n"), (Token.Literal.String, "s"),
    (Token.Name.Function, "f"), (Token.Name.Class, "f"), (Token.Name.Decorator, "d"), (Token.Name.Builtin, "b"),
    (Token.Name.Exception, "b"), (Token.Operator.Word, "k"), (Token.Name.Tag, "k"), (Token.Name.Attribute, "b"),
)  # fmt: skip
LANGUAGES = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "ts": "typescript",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "java": "java", "go": "go", "rs": "rust", "rb": "ruby",
    "sh": "bash", "json": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml", "ini": "ini", "cfg": "ini",
    "css": "css",
}  # fmt: skip
"""A file's ending -> the name of its lexer."""
_slow: set[str] = set()
"""Lexers that were slow in this process."""


def runs(path: str, lines: Sequence[str]) -> list[str]:
    """The runs of each line (without control characters and line ends); a plain end is omitted, so a plain line is
    empty."""
    language = LANGUAGES.get(PurePosixPath(path).suffix.lower().removeprefix("."))
    if language is None or language in _slow or sum(map(len, lines)) > LONGEST_BLOCK:
        return [""] * len(lines)
    return list(_block(language, tuple(line if len(line) <= LONGEST_LINE else "" for line in lines)))


@cache
def _lexer(language: str) -> Lexer:
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@lru_cache(maxsize=2048)
def _block(language: str, lines: tuple[str, ...]) -> tuple[str, ...]:
    """The runs of a block. Cached, since bugs of one repository share most of their hunks."""
    found: list[list[tuple[str, int]]] = [[] for _ in lines]
    lexer = _lexer(language)  # which takes longer the first time
    at, began = 0, time.thread_time()
    for letter, text in _letters(lexer, "\n".join(lines)):
        for number, piece in enumerate(text.split("\n")):
            at += number > 0
            found[at].append((letter, _units(piece)))
    if time.thread_time() - began > SLOW:
        _slow.add(language)
    return tuple(map(_joined, found))


def _letters(lexer: Lexer, text: str) -> Iterator[tuple[str, str]]:
    for kind, value in lexer.get_tokens(text):
        yield _letter(kind), value


@cache
def _letter(kind: Any) -> str:
    return next((letter for token, letter in LETTERS if kind in token), PLAIN)


def _units(text: str) -> int:
    """The length as a browser counts it: in units of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _joined(pieces: list[tuple[str, int]]) -> str:
    merged = [(letter, sum(size for _, size in same)) for letter, same in groupby(pieces, key=lambda one: one[0])]
    while merged and merged[-1][0] == PLAIN:
        merged.pop()
    return "".join(f"{letter}{size}" for letter, size in merged if size)
