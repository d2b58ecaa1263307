"""Git's C-style quoting of path names (`core.quotePath`), both ways, byte for byte."""

import re

from selfplay.patches.model import PatchError
from selfplay.plain import decode, encode

_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_LETTERS = {code: letter for letter, code in _ESCAPES.items()}
_TOKEN = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})|([^"\\\x00-\x1f])')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def quote(path: str) -> str:
    """`path` as git prints it: as it is when harmless, else in double quotes with octal escapes."""
    data = encode(path)
    if all(32 <= byte < 127 and byte not in b'"\\' for byte in data):
        return path
    return '"' + "".join(_quoted_byte(byte) for byte in data) + '"'


def _quoted_byte(byte: int) -> str:
    if byte in _LETTERS:
        return "\\" + _LETTERS[byte]
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def unquote(name: str) -> str:
    """The path behind a name printed by git. Raises `PatchError` for a name git would not print."""
    if not name.startswith('"'):
        if any(ord(character) < 32 or character == "\x7f" for character in name):
            raise PatchError(f"the name {name!r} holds an unquoted control character")
        return name
    if not _QUOTED.fullmatch(name):
        raise PatchError(f"the quoted name {name!r} is malformed")
    data, out, at = encode(name[1:-1]), bytearray(), 0
    while at < len(data):
        token = _TOKEN.match(data, at)
        if token is None:
            raise PatchError(f"the quoted name {name!r} is malformed")
        at = token.end()
        out.append(_byte(token))
    return decode(bytes(out))


def _byte(token: re.Match[bytes]) -> int:
    if token[2]:
        return token[2][0]
    escape = token[1].decode()
    return _ESCAPES[escape] if escape in _ESCAPES else int(escape, 8)


def pairs(names: str) -> tuple[tuple[str, str], ...]:
    """Every way to read the two names of a `diff --git` line; unquoted names with spaces leave several."""
    quoted = _QUOTED.match(names)
    if quoted:
        return ((unquote(quoted[0]), unquote(names[quoted.end() + 1 :])),)
    cuts = (cut.start() for cut in re.finditer(r' (?=b/|"b/)', names))
    return tuple((unquote(names[:cut]), unquote(names[cut + 1 :])) for cut in cuts)
