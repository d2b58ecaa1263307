"""Trees and diffs for the naive checks: read as bytes, and never parsed beyond a line."""

import codecs
import os
import re
from pathlib import Path

Snapshot = dict[bytes, tuple[str, bytes]]


def snapshot(root: Path) -> Snapshot:
    files = (path for path in root.rglob("*") if path.is_symlink() or path.is_file())
    return {os.fsencode(path.relative_to(root)): described(path) for path in files}


def described(path: Path) -> tuple[str, bytes]:
    if path.is_symlink():
        return "link", os.fsencode(path.readlink())
    return ("program" if path.stat().st_mode & 0o100 else "file"), path.read_bytes()


def difference(one: Snapshot, other: Snapshot) -> set[bytes]:
    return {path for path in {*one, *other} if one.get(path) != other.get(path)}


def renames(diff: bytes) -> list[tuple[str, str]]:
    return [(name(old), name(new)) for old, new in re.findall(rb"^rename from (.*)\nrename to (.*)$", diff, re.M)]


def name(printed: bytes) -> str:
    return os.fsdecode(codecs.escape_decode(printed[1:-1])[0] if printed.startswith(b'"') else printed)


def gives_away(diff: bytes) -> bool:
    """An added comment that is a removed line, or an added comment that speaks of an injected bug."""
    added = [line.strip() for line in re.findall(rb"^\+(?!\+\+ )(.*)$", diff, re.M)]
    removed = {line.strip() for line in re.findall(rb"^-(?!-- )(.*)$", diff, re.M)} - set(added)
    comments = [re.sub(rb"^(#+|//+|/\*+|--)\s*|\s*\*/$", b"", line) for line in added if line[:1] in b"#/-" and line]
    return any(len(comment) >= 6 and comment in removed for comment in comments) or any(
        b"bug" in comment.lower() and b"inject" in comment.lower() for comment in comments
    )
