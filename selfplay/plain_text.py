"""Converts bytes and paths to plain text, and checks them. Imports only the standard library."""

import ast
import codecs
import posixpath
import re
import symtable
import threading
from io import BytesIO
from pathlib import Path
from tokenize import detect_encoding
from typing import Any

MAX_PATH = 4096
"""The longest path on Linux, in characters."""
_PARSING = threading.Lock()
MOST_PARTS = 200
"""Parts of a dotted name; a statement `import a.b.c` has few."""
_LETTERS = bytes(range(128)) + b"a" * 128
_GAP = r"[ \t\f]*+(?:\\\n[ \t\f]*+)*+"
_DOTTED = re.compile(rf"(?<![\w.])\.*+(?:\w++{_GAP}\.{_GAP}){{{MOST_PARTS}}}")
"""A longer dotted name. CPython 3.11 joins the parts of an imported one anew at each dot and keeps every result until
the parse ends: 200 kB take 10 GB."""


MOST_SOURCE = 1 << 20
"""Characters of a source that is parsed."""
MOST_TOKENS = 200_000
"""Words and signs of a source that is parsed, those of its texts and comments included: a tree may take 920 bytes for
each. Files of numpy and sympy have up to 155,000."""
_WORD = re.compile(r"\w++")
MOST_FIELDS = 30_000
"""The most braces beside f-strings: CPython 3.11 joins the parts of one in time that grows with their square."""
_F_STRING = re.compile(r"""\b[rR]?[fF][rR]?['"]""")
_KEEPS_ASCII = re.compile(
    r"utf-8(-sig)?|ascii|iso8859-\d+|cp125\d|cp874|cp932|cp949|cp950|koi8-[rut]|mac-\w+|euc_\w+|gbk|gb2312|gb18030"
    r"|big5\w*|shift_jis\w*|tis-620"
)
"""Codecs of Python in which each byte of ASCII means itself, outside of other characters."""


def encode(text: str) -> bytes:
    """The original bytes of a text made by `decode`."""
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    """Bytes as text without loss: bytes that are not UTF-8 become surrogates, which `encode` turns back."""
    return data.decode("utf-8", "surrogateescape")


def shown(text: str) -> str:
    """The text with undecodable bytes spelled out (`\\xe9`), so that it can be printed and stored as JSON."""
    return encode(text).decode("utf-8", "backslashreplace")


def well_formed(text: str) -> str:
    """The text with U+FFFD for everything that is not a character (a byte that is not UTF-8, half of a surrogate pair),
    because JSON and tokenizers accept no such parts."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def syntax_tree(text: str | bytes, mode: str = "exec") -> Any:
    """`ast.parse`, one thread at a time: CPython 3.11 counts recursion for all threads together, and fails with a
    SystemError when two threads parse at once. Raises `ValueError`, or `SyntaxError`, also when the code is nested too
    deeply for the parser, or holds a name of too many parts."""
    _refuse_long(text)
    read = _as_python_reads(text) if isinstance(text, bytes) else text
    _refuse_costly(read)
    with _PARSING:
        try:
            return ast.parse(read, mode=mode)
        except (MemoryError, RecursionError) as error:
            raise SyntaxError("the code is nested too deeply") from error


def symbol_table(text: str) -> symtable.SymbolTable:
    """The symbol table of a Python source: the names that each scope binds and reads. The compiler builds it, in time
    that grows only with the length of the text. Raises what `syntax_tree` raises."""
    _refuse_long(text)
    _refuse_costly(text)
    with _PARSING:
        try:
            return symtable.symtable(text, "<source>", "exec")
        except (MemoryError, RecursionError) as error:
            raise SyntaxError("the code is nested too deeply") from error


def _as_python_reads(data: bytes) -> str:
    """A source as characters, of which alone all is said and parsed: a text's own word of its encoding counts no more.
    Line ends become `\\n` first, since Python looks for that word in lines that a CR ends, too.

    Raises `SyntaxError` for an encoding in which ASCII is not ASCII (utf-7, unicode_escape, EBCDIC), and for bytes that
    are not in theirs."""
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    name = codecs.lookup(detect_encoding(BytesIO(data).readline)[0]).name
    if not _KEEPS_ASCII.fullmatch(name):
        raise SyntaxError(f"the encoding {name[:40]} is not read")
    try:
        return data.decode(name)
    except UnicodeDecodeError as error:
        raise SyntaxError(f"it is no text in {name[:40]}") from error


def _refuse_long(text: str | bytes) -> None:
    if len(text) > MOST_SOURCE:
        raise SyntaxError(f"it has more than {MOST_SOURCE} characters")


def _refuse_costly(text: str) -> None:
    """Raises `SyntaxError` for a source that would take the parser much memory or time for its length."""
    _refuse_long_names(text)
    if text.count("{") > MOST_FIELDS and _F_STRING.search(text):
        raise SyntaxError(f"it has f-strings and more than {MOST_FIELDS} braces")
    if len(_WORD.sub("w", text)) - text.count(" ") > MOST_TOKENS:
        raise SyntaxError(f"it has more than {MOST_TOKENS} words and signs")


def _refuse_long_names(text: str) -> None:
    """Raises `SyntaxError`. Dots and blanks are those of ASCII, and every other character may be part of a name. A lone
    CR ends a line, too."""
    letters = text.encode("utf-8", "surrogatepass").translate(_LETTERS).decode("ascii")
    read = letters.replace("\r\n", "\n").replace("\r", "\n")
    if read.count(".") >= MOST_PARTS and _DOTTED.search(read):
        raise SyntaxError(f"a name has more than {MOST_PARTS} parts")


def printable(text: str) -> str:
    """The text without characters that control a terminal: control and invisible characters become U+FFFD, line ends
    stay."""
    return "\n".join(line if line.isprintable() else _without_controls(line) for line in text.split("\n"))


def told(text: str) -> str:
    """The text as a message of ours on a terminal: `printable`, and no line but the first begins at the edge, so that a
    line end in a stranger's text begins no line that looks like ours."""
    return re.sub(r"\n(?=\S)", "\n  ", printable(text))


def _without_controls(line: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in line)


def safe_relative(path: str) -> str | None:
    """`path` if it is a plain relative POSIX path that stays inside its root and out of any `.git`, and is not longer
    than `MAX_PATH`; else None."""
    if not path or len(path) > MAX_PATH or path.startswith("/") or "\0" in path or "\n" in path:
        return None
    plain = posixpath.normpath(path)
    inside = plain not in (".", "..") and not plain.startswith("../")
    return path if inside and plain == path and ".git" not in path.lower().split("/") else None


def regular_file(root: Path, path: str) -> Path | None:
    """The file at the relative `path` below `root`, if it is a regular file and the path contains no link."""
    if safe_relative(path) is None:
        return None
    parts, step = path.split("/"), root
    try:
        for part in parts:
            step /= part
            if step.is_symlink():
                return None
        return step if step.is_file() else None
    except OSError:  # a name that file systems refuse
        return None


def text_below(root: Path, path: str, most: int) -> str | None:
    """The text of a regular file of at most `most` bytes; None for any other, and for one that is not UTF-8."""
    file = regular_file(root, path)
    if file is None or file.stat().st_size > most:
        return None
    try:
        return file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
