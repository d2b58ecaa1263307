"""A minimal JavaScript and TypeScript tokenizer that finds the end of a call and its arguments.

Without Node.js there is no parser for the language, and Node.js would run on the host. A misreading shows when the
rewritten file is run on the original: the file is then not used. Each position of a text is read at most a few times,
even if brackets and quotes are unbalanced.
"""

import re
from dataclasses import dataclass, field

_OPEN, _CLOSE = "([{", ")]}"
_BEFORE_REGEX = re.compile(
    r"(?:^|[(,=:\[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|do|else|void|await|yield))\s*$"
)
_STRING = re.compile(r"""(?:'(?:[^'\\\n]|\\.)*+(?P<one>')?|"(?:[^"\\\n]|\\.)*+(?P<two>")?)""", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_REGEX = re.compile(r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*+\])++/[a-z]*")
_BLANK = re.compile(r"\s*")
_IN_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*+", re.DOTALL)
LONGEST_REGEX = 1000
STRAY = 200
"""An apostrophe without a second one within this many characters of its line is plain text, as in JSX; otherwise it
starts a string."""


@dataclass(frozen=True)
class JavaScriptCall:
    """`arguments`: (start, end) of each argument; `end`: after the closing bracket."""

    arguments: tuple[tuple[int, int], ...]
    end: int


@dataclass
class _Open:
    """An open bracket, or an open backtick of a template literal."""

    at: int
    template: bool = False
    first: int = 0
    found: list[tuple[int, int]] = field(default_factory=list)


class JavaScriptCalls:
    """The calls of a text; each is read once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[int, JavaScriptCall | None] = {}

    def at(self, bracket: int) -> JavaScriptCall | None:
        """The call whose opening bracket is at `bracket`; None when the text ends before the call does."""
        if bracket not in self._known:
            self._read(bracket)
        return self._known[bracket]

    def _read(self, at: int) -> None:
        """Read from an opening bracket to its closing one, and store the calls found on the way."""
        open_ones = list[_Open]()
        while at < len(self._text):
            at = self._step(at, open_ones)
            if not open_ones:
                return
        for one in open_ones:
            if not one.template:
                self._known[one.at] = None

    def _step(self, at: int, open_ones: list[_Open]) -> int:
        """Read the token at `at`; returns the position after it."""
        text, here = self._text, open_ones[-1] if open_ones else None
        if here is not None and here.template:
            at = _end(_IN_TEMPLATE, text, at)
            if text.startswith("`", at):
                open_ones.pop()
            elif text.startswith("${", at):
                open_ones.append(_Open(at + 1, first=at + 2))
                at += 1
            return at + 1
        sign = text[at]
        if sign in _OPEN:
            if at in self._known:
                known = self._known[at]
                return known.end if known is not None else len(text)
            open_ones.append(_Open(at, first=at + 1))
        elif sign in _CLOSE and here is not None:
            self._close(open_ones.pop(), at)
        elif sign == "," and here is not None:
            here.found.append((here.first, at))
            here.first = at + 1
        elif sign == "`":
            open_ones.append(_Open(at, template=True))
        else:
            return _after_literal(text, at)
        return at + 1

    def _close(self, one: _Open, at: int) -> None:
        if _end(_BLANK, self._text, one.first) < at:
            one.found.append((one.first, at))
        self._known[one.at] = JavaScriptCall(tuple(one.found), at + 1)


def _after_literal(text: str, at: int) -> int:
    """The position after the string, comment or regular expression that begins at `at`; else after one character."""
    sign = text[at]
    if sign in "'\"":
        string = _STRING.match(text, at)
        assert string is not None  # a string begins with a quote
        return string.end() if string.lastgroup or string.end() - at > STRAY else at + 1
    if sign != "/":
        return at + 1
    if text.startswith(("//", "/*"), at):
        return _end(_COMMENT, text, at)
    if _BEFORE_REGEX.search(text, max(0, at - 40), at):
        found = _REGEX.match(text, at, at + LONGEST_REGEX)
        return found.end() if found else at + 1
    return at + 1


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
