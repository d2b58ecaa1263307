"""Just enough of JavaScript's (and TypeScript's) words to find where a call ends and what its arguments are.

No parser of the language is at hand without Node.js, whose code would run on the host. What is read wrongly here
shows when the rewritten file is run on the original: it is not used then.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPEN, _CLOSE = "([{", ")]}"
_BEFORE_REGEX = re.compile(
    r"(?:^|[(,=:\[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|do|else|void|await|yield))\s*$"
)
_LITERAL = re.compile(
    r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?(?:\*/|\Z)""",
    re.DOTALL,
)
_REGEX = re.compile(r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")


@dataclass(frozen=True)
class Call:
    """`start`: of what stands before the bracket; `arguments`: (start, end) of each; `end`: after the bracket."""

    start: int
    arguments: tuple[tuple[int, int], ...]
    end: int


def call_at(text: str, start: int, bracket: int) -> Call | None:
    """The call whose opening bracket is at `bracket`; None when the text ends before it does."""
    depth, first, found = 0, bracket + 1, list[tuple[int, int]]()
    for at, sign in _signs(text, bracket):
        if sign in _OPEN:
            depth += 1
        elif sign in _CLOSE:
            depth -= 1
            if depth == 0:
                if text[first:at].strip():
                    found.append((first, at))
                return Call(start, tuple(found), at + 1)
        elif sign == "," and depth == 1:
            found.append((first, at))
            first = at + 1
    return None


def _signs(text: str, at: int) -> Iterator[tuple[int, str]]:
    """The brackets and commas from `at` on, those in strings, comments and regular expressions left out."""
    while at < len(text):
        sign = text[at]
        literal = _LITERAL.match(text, at)
        if literal is None and sign == "/" and _BEFORE_REGEX.search(text, max(0, at - 40), at):
            literal = _REGEX.match(text, at)
        if literal is not None:
            at = literal.end()
        elif sign == "`":
            at = _template_end(text, at)
        else:
            if sign in _OPEN or sign in _CLOSE or sign == ",":
                yield at, sign
            at += 1


def _template_end(text: str, at: int) -> int:
    """After the template literal that begins at `at`."""
    at += 1
    while at < len(text) and text[at] != "`":
        if text[at] == "\\":
            at += 1
        elif text.startswith("${", at):
            inner = call_at(text, at, at + 1)
            if inner is None:
                return len(text)
            at = inner.end - 1
        at += 1
    return at + 1
