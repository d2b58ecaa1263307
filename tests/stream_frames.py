"""Streams as a hostile sandbox could write them."""

import io
import os
from pathlib import Path

from selfplay.repository.inside.pack import END, FILE, FOLDER, HEAD, LINK, opened, pack


def frame(
    kind: int, path: bytes, content: bytes = b"", *, executable: int = 0, mtime: int = 0, size: int = -1
) -> bytes:
    """One frame; `size` other than that of the content is a lie."""
    return HEAD.pack(kind, executable, mtime, len(path), len(content) if size < 0 else size) + path + content


def file(path: bytes, content: bytes = b"", **header: int) -> bytes:
    return frame(FILE, path, content, **header)


def folder(path: bytes) -> bytes:
    return frame(FOLDER, path)


def link(path: bytes, target: bytes) -> bytes:
    return frame(LINK, path, target)


ENDED = frame(END, b"")


def packed(root: Path, paths: list[bytes] | None = None) -> bytes:
    """What our program inside writes for a folder."""
    out = io.BytesIO()
    with opened(os.fsencode(root)) as below:
        pack(below, out, paths)
    return out.getvalue()
