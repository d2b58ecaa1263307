"""Packs the original tree of bugs for a dataset, and computes its git tree id, to verify that the bugs were made on it.

A run's folder is untrusted: no link is followed, sizes are checked before a byte is read, and a tree that is too large
or too deep ends in a one-line error.
"""

import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from selfplay.artifact.reading import UntrustedDataError, opened_below
from selfplay.repository.files.tree_files import LARGEST_TREE

_EXECUTABLE = 0o100


@dataclass
class _GitTree:
    """A folder as git records it: name -> (mode, id), and its subfolders."""

    entries: dict[bytes, tuple[bytes, bytes]] = field(default_factory=dict)
    folders: dict[bytes, "_GitTree"] = field(default_factory=dict)

    def at(self, names: list[bytes]) -> "_GitTree":
        here = self
        for name in names:
            here = here.folders.setdefault(name, _GitTree())
        return here


class _Hashed(io.RawIOBase):
    """A stream whose bytes go into a hash while they are read."""

    def __init__(self, stream: IO[bytes], size: int, kind: str) -> None:
        self._stream, self.digest = stream, hashlib.new(kind, b"blob %d\0" % size)

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.digest.update(data)
        return data


def pack(tree: Path, out: Path, wanted: str) -> None:
    """Write the files of `tree` as an archive whose bytes depend on their names, modes and contents alone. Raises
    `UntrustedDataError` for a tree whose id is not `wanted`, and for one that is too large; `out` is then no
    archive."""
    kind = "sha256" if len(wanted) == 64 else "sha1"
    root, left = _GitTree(), LARGEST_TREE.bytes
    with (
        out.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as pressed,
        tarfile.open(fileobj=pressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path, status in sorted(_files(tree), key=lambda found: os.fsencode(found[0])):
            left -= status.st_size
            if left < 0:
                raise UntrustedDataError(f"{tree} has more than {LARGEST_TREE.bytes} bytes")
            *above, name = os.fsencode(path).split(b"/")
            added = _link if stat.S_ISLNK(status.st_mode) else _file
            root.at(above).entries[name] = added(archive, tree, path, status, kind)
    if (found := _id(root, kind).hex()) != wanted:
        raise UntrustedDataError(f"{tree} is the tree {found[:12]}, not {wanted[:12]}, on which its bugs were made")


def _files(tree: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The path of each file and link below the tree. Only one folder is open at a time."""
    folders, number = [""], 0
    while folders:
        here = folders.pop()
        if here.count("/") > LARGEST_TREE.depth or len(os.fsencode(here)) > LARGEST_TREE.path_bytes:
            raise UntrustedDataError(
                f"{tree} has folders of a depth of more than {LARGEST_TREE.depth}, or longer names"
            )
        for entry in _entries(tree / here):
            number += 1
            if number > LARGEST_TREE.entries:
                raise UntrustedDataError(f"{tree} holds more than {LARGEST_TREE.entries} files")
            path = f"{here}{entry.name}"
            if entry.name.lower() == ".git":  # no tree of git's holds one, and git runs programs that it names
                raise UntrustedDataError(f"{tree} holds {path[:200]!r}, which is git's own")
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{path}/")
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                yield path, entry.stat(follow_symlinks=False)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError as error:
        raise UntrustedDataError(f"{str(folder)[:200]} cannot be read: {error.strerror}") from error


def _link(archive: tarfile.TarFile, tree: Path, path: str, status: os.stat_result, kind: str) -> tuple[bytes, bytes]:
    info, target = tarfile.TarInfo(path), os.readlink(tree / path)  # noqa: PTH115 - as it is written
    info.type, info.linkname = tarfile.SYMTYPE, target
    archive.addfile(info)
    data = os.fsencode(target)
    return b"120000", hashlib.new(kind, b"blob %d\0" % len(data) + data).digest()


def _file(archive: tarfile.TarFile, tree: Path, path: str, status: os.stat_result, kind: str) -> tuple[bytes, bytes]:
    info, runs = tarfile.TarInfo(path), bool(status.st_mode & _EXECUTABLE)
    info.size, info.mode = status.st_size, 0o755 if runs else 0o644
    with opened_below(tree, path, LARGEST_TREE.bytes) as stream:
        hashed = _Hashed(stream, status.st_size, kind)
        archive.addfile(info, hashed)
    return b"100755" if runs else b"100644", hashed.digest.digest()


def _id(folder: _GitTree, kind: str) -> bytes:
    """The id of git's tree object: a folder is sorted as if its name ended in a slash."""
    entries = dict(folder.entries)
    entries |= {name: (b"40000", _id(inner, kind)) for name, inner in folder.folders.items()}
    named = sorted(entries.items(), key=lambda one: one[0] + b"/" * (one[1][0] == b"40000"))
    data = b"".join(b"%s %s\0%s" % (mode, name, number) for name, (mode, number) in named)
    return hashlib.new(kind, b"tree %d\0" % len(data) + data).digest()
