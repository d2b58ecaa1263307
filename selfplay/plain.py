"""Bytes and paths as plain text, without loss and without surprises. Knows nothing but the standard library."""

import ast
import posixpath
import re
import threading
from pathlib import Path
from typing import Any

_PARSING = threading.Lock()


def encode(text: str) -> bytes:
    """The exact bytes behind a text read with `decode`."""
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    """Bytes as text without loss: what is not UTF-8 becomes surrogates that `encode` turns back."""
    return data.decode("utf-8", "surrogateescape")


def shown(text: str) -> str:
    """The text with undecodable bytes spelled out (`\\xe9`), so that it can be printed and stored as JSON."""
    return encode(text).decode("utf-8", "backslashreplace")


def well_formed(text: str) -> str:
    """The text with U+FFFD for what is no character (a byte that is no UTF-8, half of a pair): as JSON and tokenizers
    take it."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def syntax_tree(text: str | bytes, mode: str = "exec") -> Any:
    """`ast.parse`, one thread at a time: CPython 3.11's counts its recursion for all threads together, and fails with
    a SystemError where two parse at once. Raises `SyntaxError`, `ValueError` and so on, as `ast.parse`."""
    with _PARSING:
        return ast.parse(text, mode=mode)


def printable(text: str) -> str:
    """The text without what could drive a terminal: control and invisible characters become U+FFFD, lines stay."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def safe_relative(path: str) -> str | None:
    """`path` when it is a plain relative POSIX path that stays inside its root and out of any `.git`, else None."""
    if not path or path.startswith("/") or "\0" in path or "\n" in path:
        return None
    plain = posixpath.normpath(path)
    inside = plain not in (".", "..") and not plain.startswith("../")
    return path if inside and plain == path and ".git" not in path.lower().split("/") else None


def regular_file(root: Path, path: str) -> Path | None:
    """The file at the relative `path` below `root`, when it is one and no link leads to it."""
    file = root / path
    if safe_relative(path) is None or not file.is_file():
        return None
    steps = (file, *(folder for folder in file.parents if folder != root and folder.is_relative_to(root)))
    return None if any(step.is_symlink() for step in steps) else file
