"""Git's C-style quoting of path names (`core.quotePath`), in both directions, byte for byte."""

import re

from selfplay.patches.model import PatchError
from selfplay.plain_text import decode, encode

_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_LETTERS = {code: letter for letter, code in _ESCAPES.items()}
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})')
QUOTED = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\(?:[abtnvfr"\\]|[0-3][0-7]{2})[^"\\\x00-\x1f]*+)*+"')
_HARMLESS = re.compile(r"[ !#-\[\]-~]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def quote(path: str) -> str:
    """`path` as git prints it: unchanged if harmless, otherwise in double quotes with octal escapes."""
    if _HARMLESS.fullmatch(path):
        return path
    return '"' + "".join(map(_quoted_byte, encode(path))) + '"'


def _quoted_byte(byte: int) -> str:
    if byte in _LETTERS:
        return "\\" + _LETTERS[byte]
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def unquote(name: str) -> str:
    """The path for a name printed by git. Raises `PatchError` for a name that git would not print."""
    if not name.startswith('"'):
        return _plain(name)
    if not QUOTED.fullmatch(name):
        raise PatchError(f"the quoted name {name[:200]!r} is malformed")
    return decode(_ESCAPE.sub(_byte, encode(name[1:-1])))


def _plain(name: str) -> str:
    if _CONTROL.search(name):
        raise PatchError(f"the name {name[:200]!r} holds an unquoted control character")
    return name


def _byte(escape: re.Match[bytes]) -> bytes:
    code = escape[1].decode()
    return bytes([_ESCAPES[code] if code in _ESCAPES else int(code, 8)])


def pairs(names: str, old: str | None = None) -> tuple[tuple[str, str], ...]:
    """The possible readings of the two names in a `diff --git` line. `old`: the first name, if the section also gives
    it elsewhere.

    Unquoted names may contain spaces, so the line alone can be read as many pairs. Without `old`, only pairs that name
    one file are returned: two names of equal length, or a quoted name after one without a quote. Raises `PatchError`.
    """
    if quoted := QUOTED.match(names):
        cuts = {quoted.end()}
    elif old is not None:
        cuts = {len(old)}
    else:
        cuts = {len(_plain(names)) // 2, names.find(' "b/')}
    cuts = {cut for cut in cuts if names[cut : cut + 3] == " b/" or names[cut : cut + 4] == ' "b/'}
    return tuple((unquote(names[:cut]), unquote(names[cut + 1 :])) for cut in sorted(cuts))


def name_line(marker: str, prefix: str, path: str | None) -> str:
    """A `---` or `+++` line as git writes it; None for a side that does not exist."""
    if path is None:
        return f"{marker} /dev/null"
    return f"{marker} {quote(f'{prefix}/{path}')}" + ("\t" if " " in path else "")
