"""Writes files below one of our folders under untrusted names: component by component, never through a link.

Every folder is opened relative to its parent's descriptor and refused if it is a link, so no name and no earlier link
leads elsewhere. Everything written is owned by us, or by the given uid, and has the mode 0644 or 0755.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from selfplay.formatting import shortened
from selfplay.owned_folders import NEW_FILE
from selfplay.repository.errors import BadStream
from selfplay.sandbox import MIB
from selfplay.sandbox.identity import identity

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LATEST = (1 << 33) * 10**9
"""File times are limited to 1970 to 2242, because file systems treat others differently."""
REFUSED_NAMES = (errno.EILSEQ, errno.EINVAL, errno.ENAMETOOLONG)
Names = tuple[bytes, ...]
PAGE = 4096
ZEROS = bytes(MIB)


class Beneath:
    """The folder `root`, opened, which is this user's, or its sandboxes', and no link. `owner`: (uid, gid) of what is
    written, if this process may change owners.

    It keeps the folders of the last path open, because entries come folder by folder. Not thread-safe.
    """

    def __init__(self, root: Path, owner: tuple[int, int] | None = None) -> None:
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if os.fstat(self._root).st_uid not in {os.geteuid(), identity().uid, *(owner or ())[:1]}:
            os.close(self._root)
            raise BadStream(f"{shortened(root)} was made by another user")
        self._owner = owner if os.geteuid() == 0 else None
        self._open: list[tuple[bytes, int]] = []
        self.made = 0
        """The number of folders that were created."""

    def __enter__(self) -> "Beneath":
        return self

    def __exit__(self, *_: object) -> None:
        self._leave(0)
        os.close(self._root)

    def adopt(self) -> None:
        """Give the folder itself the mode and owner of its contents."""
        self._settle(self._root, 0o755)

    def folder(self, names: Names, *, make: bool = True) -> int:
        """A descriptor of this folder, valid until the next call; missing folders are created.

        Raises `BadStream` if a file or a link is in the way, `FileNotFoundError` if it is missing and `make` is False.
        """
        same = 0
        while same < min(len(names), len(self._open)) and self._open[same][0] == names[same]:
            same += 1
        self._leave(same)
        here = self._open[-1][1] if self._open else self._root
        for name in names[same:]:
            here = self._enter(here, name, make)
            self._open.append((name, here))
        return here

    def file(self, names: Names, content: Iterator[bytes], *, executable: bool, mtime_ns: int) -> None:
        """Write a new file. Raises `BadStream` if the name exists."""
        with self._named(names):
            descriptor = os.open(names[-1], NEW_FILE, 0o600, dir_fd=self.folder(names[:-1]))
        try:
            _write_sparse(descriptor, content)
            self._settle(descriptor, 0o755 if executable else 0o644)
            time = min(max(mtime_ns, 0), LATEST)
            os.utime(descriptor, ns=(time, time))
        finally:
            os.close(descriptor)

    def link(self, names: Names, target: bytes) -> None:
        """Create a link; the caller decides whether it is allowed. Raises `BadStream` if the name exists."""
        folder = self.folder(names[:-1])
        with self._named(names):
            os.symlink(target, names[-1], dir_fd=folder)
        if self._owner:
            os.chown(names[-1], *self._owner, dir_fd=folder, follow_symlinks=False)

    def take(self, file: Path, names: Names) -> None:
        """Move one of our files here, on the same disk."""
        os.rename(file, names[-1], dst_dir_fd=self.folder(names[:-1]))

    def has_file(self, names: Names) -> bool:
        """Whether a regular file of this name exists, reached through no link."""
        try:
            mode = os.stat(names[-1], dir_fd=self.folder(names[:-1], make=False), follow_symlinks=False).st_mode
        except (OSError, BadStream):
            return False
        return stat.S_ISREG(mode)

    def _enter(self, here: int, name: bytes, make: bool) -> int:
        try:
            return os.open(name, DIRECTORY, dir_fd=here)
        except FileNotFoundError:
            if not make:
                raise
        except NotADirectoryError as error:
            raise BadStream(f"{shown(name)} is both a folder and a file or link") from error
        with self._named((name,)):
            os.mkdir(name, 0o755, dir_fd=here)
        self.made += 1
        folder = os.open(name, DIRECTORY, dir_fd=here)
        self._settle(folder, 0o755)
        return folder

    def _settle(self, descriptor: int, mode: int) -> None:
        """Set mode and owner of something new; the mode last, since changing the owner may change it."""
        if self._owner:
            os.fchown(descriptor, *self._owner)
        os.fchmod(descriptor, mode)

    def _leave(self, kept: int) -> None:
        while len(self._open) > kept:
            os.close(self._open.pop()[1])

    @contextlib.contextmanager
    def _named(self, names: Names) -> Iterator[None]:
        try:
            yield
        except FileExistsError as error:
            raise BadStream(f"{shown(b'/'.join(names))} occurs twice") from error
        except OSError as error:
            if error.errno not in REFUSED_NAMES:
                raise
            raise BadStream(f"{shown(names[-1])} is a name that this disk refuses") from error


def _write_sparse(descriptor: int, content: Iterator[bytes]) -> None:
    """Write a new file, with blocks of zeros as holes, which take no disk space."""
    size = 0
    for block in content:
        size += len(block)
        if len(block) >= PAGE and ZEROS.startswith(block):
            os.lseek(descriptor, size, os.SEEK_SET)
        else:
            write_all(descriptor, block)
    os.ftruncate(descriptor, size)


def write_all(descriptor: int, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[os.write(descriptor, view) :]


def blocks(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """Exactly `size` bytes of a stream, in pieces of at most 1 MiB. Raises `BadStream` if it ends earlier."""
    while size:
        block = stream.read(min(size, MIB))
        if not block:
            raise BadStream("it ends in the middle of a file")
        size -= len(block)
        yield block


def shown(name: bytes) -> str:
    """An untrusted name for an error message: short, and without terminal control characters."""
    return ascii(os.fsdecode(name[:100]))
