"""Unpacks a source distribution that may be hostile: with limits, inside its folder, and only files, folders and inner
links. Runs in a sandbox only, whose limits also bound the memory of the archive reader.

The standard library's extraction filter is not used: Debian 12's Python (3.11.2) lacks it, and it stops at the first
bad member, while this code drops the member and notes it. Everything that the filter refuses is refused here too.
"""

import os
import posixpath
import resource
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from selfplay.errors import in_words
from selfplay.repository.disk import OF_WRITING
from selfplay.repository.errors import SourceError

MAX_BYTES = 1024 * 1024 * 1024
MAX_MEMBERS = 50_000
MAX_DEPTH = 100
MAX_NOTES = 1_000
MEMORY = 1 << 30
"""Memory for reading one archive: headers of any size are read whole."""


@dataclass
class _ArchiveUnpacking:
    target: Path
    notes: list[str] = field(default_factory=list)
    members: int = 0
    size: int = 0

    def place(self, name: str) -> Path | None:
        """The path for a member, with its folders created; None (and a note) for a forbidden name."""
        self.members += 1
        if self.members > MAX_MEMBERS:
            raise SourceError(f"the archive has more than {MAX_MEMBERS} members")
        plain = posixpath.normpath(name)
        parts = plain.split("/")
        if plain.startswith("/") or ".." in parts or ".git" in [part.lower() for part in parts] or "\0" in name:
            self.drop(name, "leaves the tree or hides in .git")
            return None
        if len(parts) > MAX_DEPTH:
            raise SourceError(f"the archive nests more than {MAX_DEPTH} folders: {'/'.join(parts[:3])}/...")
        if len(parts) < 2:
            return None  # the top folder itself, or a stray file beside it (pax headers)
        path = self.target.joinpath(*parts[1:])
        try:
            if any(folder.is_symlink() for folder in path.parents if folder != self.target):
                self.drop(name, "lies behind a link")
                return None
            path.parent.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError):
            self.drop(name, "has a name that cannot be written")
            return None
        return path

    def drop(self, name: str, why: str) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append(f"archive member {name[:200]!r} {why}: dropped")

    def write(self, path: Path, stream: IO[bytes], executable: bool) -> None:
        if path.is_symlink() or path.is_dir():
            self.drop(str(path.relative_to(self.target)), "replaces a link or a folder")
            return
        with path.open("wb") as out:
            while block := stream.read(1 << 20):
                self.count(len(block))
                out.write(block)
        path.chmod(0o755 if executable else 0o644)

    def count(self, size: int) -> None:
        """Count written bytes. A hard link counts too, because it becomes a separate file."""
        self.size += size
        if self.size > MAX_BYTES:
            raise SourceError(f"the archive unpacks to more than {MAX_BYTES} bytes")


def unpack(archive: Path, target: Path) -> list[str]:
    """Unpack a `.tar.*` or `.zip` sdist into `target`, without its single top folder; returns notes on dropped members.

    Raises `SourceError` for a file that is not such an archive, or exceeds the limits.
    """
    target.mkdir(parents=True, exist_ok=True)
    unpacking = _ArchiveUnpacking(target.resolve())
    try:
        with _memory(MEMORY):
            (_unzip if archive.name.endswith(".zip") else _untar)(archive, unpacking)
    except SourceError:
        raise
    except MemoryError as error:
        raise SourceError(f"the archive cannot be unpacked: its headers take more than {MEMORY} bytes") from error
    except OSError as error:
        if error.errno in OF_WRITING:
            raise
        raise SourceError(f"the archive cannot be unpacked: {in_words(error)}") from error
    except (
        Exception
    ) as error:  # what the readers of the standard library raise for malformed input is not a closed list
        raise SourceError(f"the archive cannot be unpacked: {str(error)[:200] or type(error).__name__}") from error
    return unpacking.notes


@contextmanager
def _memory(most: int) -> Iterator[None]:
    """Limit the memory that this process may still allocate."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _untar(archive: Path, unpacking: _ArchiveUnpacking) -> None:
    links: list[tuple[tarfile.TarInfo, Path]] = []
    with tarfile.open(archive, errors="surrogateescape") as tar:
        for member in tar:
            path = unpacking.place(member.name)
            if path is None or member.isdir():
                continue
            if member.isreg():
                stream = tar.extractfile(member)
                assert stream is not None
                unpacking.write(path, stream, bool(member.mode & 0o100))
            elif member.issym() or member.islnk():
                links.append((member, path))
            else:
                unpacking.drop(member.name, "is a device or a pipe")
    for member, path in links:  # last, so that no file is ever written through a link
        _link(member, path, unpacking)
    _drop_links_that_lead_out({path: member.name for member, path in links if path.is_symlink()}, unpacking)


def _drop_links_that_lead_out(links: dict[Path, str], unpacking: _ArchiveUnpacking) -> None:
    """Drop links whose text stays inside but that lead outside through other links."""
    for path, name in links.items():
        if not Path(os.path.realpath(path)).is_relative_to(unpacking.target):
            path.unlink()
            unpacking.drop(name, "leads out of the tree through other links")


def _link(member: tarfile.TarInfo, path: Path, unpacking: _ArchiveUnpacking) -> None:
    base = posixpath.dirname(member.name) if member.issym() else ""
    goal = posixpath.normpath(posixpath.join(base, member.linkname))
    top = posixpath.normpath(member.name).split("/")[0]
    source = unpacking.target.joinpath(*goal.split("/")[1:])
    if member.linkname.startswith("/") or not goal.startswith(f"{top}/"):
        unpacking.drop(member.name, "links out of the tree")
    elif path.exists() or path.is_symlink():
        unpacking.drop(member.name, "repeats a name")
    elif member.issym():
        path.symlink_to(member.linkname)
    elif source.is_file() and source.resolve() == source:
        unpacking.count(source.stat().st_size)
        shutil.copy2(source, path)
    else:
        unpacking.drop(member.name, "is a hard link to no earlier file")


def _unzip(archive: Path, unpacking: _ArchiveUnpacking) -> None:
    with zipfile.ZipFile(archive) as bundle:
        for member in _files(bundle):
            path = unpacking.place(member.filename)
            if path is not None:
                with bundle.open(member) as stream:
                    unpacking.write(path, stream, bool(member.external_attr >> 16 & 0o100))


def _files(bundle: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    return (member for member in bundle.infolist() if not member.is_dir())
