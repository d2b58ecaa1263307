"""Merges the layers of a tree into one stream of files, which the agent unpacks before anything else runs.

Under bubblewrap a sandbox has a copy-on-write view. A container without privileges cannot create one, the engine's own
writable layer has no limit on most file systems, and read-only layers mounted elsewhere would show the original to a
solver. So the tree, which is small, is copied (`docs/architecture.md` gives the cost), and the environment, which is
large, is a read-only mount.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from selfplay.sandbox.errors import WorldRefused
from selfplay.sandbox.messages import END, ENTRY, FILE, FOLDER, LINK

PAGE = 4096
CHUNK = 1 << 20


@dataclass(frozen=True)
class LayerEntry:
    """One file, folder or link. `path` is relative to the root; the root's own path is empty."""

    path: bytes
    kind: int
    source: str
    mode: int
    mtime_ns: int
    size: int


@dataclass(frozen=True)
class MergedTree:
    """The merged layers, parents before their contents."""

    entries: tuple[LayerEntry, ...]

    @property
    def disk_bytes(self) -> int:
        """The disk space of the unpacked tree, in whole pages."""
        return sum(-(-entry.size // PAGE) * PAGE for entry in self.entries if entry.kind == FILE)

    def packed(self) -> Iterator[bytes]:
        """The stream, in pieces of some `CHUNK`. Raises `WorldRefused` for a file that cannot be read."""
        pieces: list[bytes] = []
        held = 0
        for entry in self.entries:
            large = entry.kind == FILE and entry.size > CHUNK
            data = b"" if large else content(entry)
            size = entry.size if large else len(data)
            pieces += (ENTRY.pack(entry.kind, entry.mode, entry.mtime_ns, len(entry.path), size), entry.path, data)
            held += size
            if large:
                yield b"".join(pieces)
                yield from large_content(entry)
                pieces, held = [], 0
            if held > CHUNK:
                yield b"".join(pieces)
                pieces, held = [], 0
        yield b"".join([*pieces, ENTRY.pack(END, 0, 0, 0, 0)])


def content(entry: LayerEntry) -> bytes:
    try:
        if entry.kind == LINK:
            return os.fsencode(os.readlink(entry.source))  # noqa: PTH115 - strings, once per file of every sandbox
        if entry.kind == FILE:
            with open(entry.source, "rb") as stream:  # noqa: PTH123
                return stream.read()
    except OSError as error:
        raise WorldRefused(f"{entry.source} cannot be read, so no sandbox can show it: {error.strerror}") from error
    return b""


def large_content(entry: LayerEntry) -> Iterator[bytes]:
    """The content of a file, of which a piece at a time is in memory. Raises `WorldRefused`, also if it is shorter
    now."""
    left = entry.size
    try:
        with open(entry.source, "rb") as stream:  # noqa: PTH123
            while left and (data := stream.read(min(CHUNK, left))):
                left -= len(data)
                yield data
    except OSError as error:
        raise WorldRefused(f"{entry.source} cannot be read, so no sandbox can show it: {error.strerror}") from error
    if left:
        raise WorldRefused(f"{entry.source} became shorter while a sandbox was made of it")


def merge(layers: Iterable[Path]) -> MergedTree:
    """Stack the layers, lowest first: a higher one's file replaces a lower one's, folders are merged."""
    found: dict[bytes, tuple[int, LayerEntry]] = {}
    covered: dict[bytes, int] = {}
    for number, layer in enumerate(layers):
        for entry in walk(str(layer), b""):
            if entry.kind != FOLDER and entry.path in found and found[entry.path][1].kind == FOLDER:
                covered[entry.path] = number
            found[entry.path] = number, entry
    shown = (entry for number, entry in found.values() if not covered or not hidden(entry.path, number, covered))
    return MergedTree(tuple(sorted(shown, key=lambda entry: entry.path.split(b"/"))))


def hidden(path: bytes, number: int, covered: Mapping[bytes, int]) -> bool:
    """Whether a path of layer `number` lies in a folder that a later layer has replaced. `covered`: folder -> the last
    layer that has something else in its place."""
    at = path.rfind(b"/")
    while at > 0:
        if covered.get(path[:at], -1) > number:
            return True
        at = path.rfind(b"/", 0, at)
    return False


def walk(place: str, path: bytes) -> Iterator[LayerEntry]:
    """Everything in a layer, without following links. Raises `WorldRefused` for special files."""
    yield described(place, path, os.lstat(place))
    with os.scandir(place) as listing:
        for item in listing:
            below = path + b"/" + os.fsencode(item.name) if path else os.fsencode(item.name)
            if item.is_dir(follow_symlinks=False):
                yield from walk(item.path, below)
            else:
                yield described(item.path, below, item.stat(follow_symlinks=False))


def described(place: str, path: bytes, status: os.stat_result) -> LayerEntry:
    kinds = {stat.S_IFREG: FILE, stat.S_IFDIR: FOLDER, stat.S_IFLNK: LINK}
    kind = kinds.get(stat.S_IFMT(status.st_mode))
    if kind is None:
        raise WorldRefused(f"{place} is not a file, folder or link, so it cannot be part of a tree")
    return LayerEntry(path, kind, place, stat.S_IMODE(status.st_mode), status.st_mtime_ns, status.st_size)
