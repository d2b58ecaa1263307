"""Converts bytes and paths to plain text, and checks them. Imports only the standard library."""

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MAX_PATH, MOST_NAMES = 4096, 100
"""The longest path on Linux, in characters, and the most names in one."""


def encode(text: str) -> bytes:
    """The original bytes of a text made by `decode`."""
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    """Bytes as text without loss: bytes that are not UTF-8 become surrogates, which `encode` turns back."""
    return data.decode("utf-8", "surrogateescape")


def shown(text: str) -> str:
    """The text with undecodable bytes spelled out (`\\xe9`), and U+FFFD for half of a pair: it can be printed, and
    stored as JSON."""
    halves = re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", text)
    return encode(halves).decode("utf-8", "backslashreplace")


def storable(value: Any) -> Any:
    """A JSON value with its texts as `shown`: names of files, and what programs say, may be any bytes."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, Mapping):
        return {storable(name): storable(one) for name, one in value.items()}
    return [storable(one) for one in value] if isinstance(value, list | tuple) else value


def well_formed(text: str) -> str:
    """The text with U+FFFD for everything that is not a character (a byte that is not UTF-8, half of a surrogate pair),
    because JSON and tokenizers accept no such parts."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


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
    than `MAX_PATH` nor deeper than `MOST_NAMES`; else None. Whoever looks at all folders of a path takes time and
    memory that grow with the square of its depth."""
    if (
        not path
        or len(path) > MAX_PATH
        or path.count("/") >= MOST_NAMES
        or path.startswith("/")
        or "\0" in path
        or "\n" in path
    ):
        return None
    plain = posixpath.normpath(path)
    inside = plain not in (".", "..") and not plain.startswith("../")
    return path if inside and plain == path and ".git" not in path.lower().split("/") else None


def folders_above(path: str) -> list[str]:
    """The folders in which a relative path lies, the topmost first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


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
