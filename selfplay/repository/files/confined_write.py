"""Writing below one folder of ours by names that strangers chose: component by component, never through a link.

Every folder is opened relative to its parent's descriptor and refused when it is a link, so no name, and no link that
was written earlier, leads anywhere else. What is written is owned by us, or by the uid that is given, with the mode
0644 or 0755 and nothing else.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from selfplay.repository.errors import BadStream
from selfplay.sandbox import MIB

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
LATEST = (1 << 33) * 10**9
"""Times of files are held between 1970 and 2242: file systems differ in what they do with others."""
REFUSED_NAMES = (errno.EILSEQ, errno.EINVAL, errno.ENAMETOOLONG)
Names = tuple[bytes, ...]
PAGE = 4096
ZEROS = bytes(MIB)


class Beneath:
    """The folder `root`, opened. `owner`: (uid, gid) of what is written, where this process may give it away.

    It keeps the folders of the last path open, as entries come folder by folder. Not for several threads.
    """

    def __init__(self, root: Path, owner: tuple[int, int] | None = None) -> None:
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._owner = owner if os.geteuid() == 0 else None
        self._open: list[tuple[bytes, int]] = []
        self.made = 0
        """How many folders were made."""

    def __enter__(self) -> "Beneath":
        return self

    def __exit__(self, *_: object) -> None:
        self._leave(0)
        os.close(self._root)

    def adopt(self) -> None:
        """Give the folder itself the mode and the owner of what is written below it."""
        self._settle(self._root, 0o755)

    def folder(self, names: Names, *, make: bool = True) -> int:
        """A descriptor of that folder, valid until the next call; what is missing of it is made.

        Raises `BadStream` where a file or a link is in the way, FileNotFoundError when it is missing and not to be
        made.
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
        """Write one new file. Raises `BadStream` when there is something of that name."""
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
        """Make one link; whether it may be is the caller's to decide. Raises `BadStream` as for a file."""
        folder = self.folder(names[:-1])
        with self._named(names):
            os.symlink(target, names[-1], dir_fd=folder)
        if self._owner:
            os.chown(names[-1], *self._owner, dir_fd=folder, follow_symlinks=False)

    def take(self, file: Path, names: Names) -> None:
        """Move a file of ours on the same disk here."""
        os.rename(file, names[-1], dst_dir_fd=self.folder(names[:-1]))

    def has_file(self, names: Names) -> bool:
        """Whether there is a regular file of that name, reached through no link."""
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
        """Mode and owner of something new; the mode comes last, as giving a file away may change it."""
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
            raise BadStream(f"{shown(b'/'.join(names))} is there twice") from error
        except OSError as error:
            if error.errno not in REFUSED_NAMES:
                raise
            raise BadStream(f"{shown(names[-1])} is a name that this disk refuses") from error


def _write_sparse(descriptor: int, content: Iterator[bytes]) -> None:
    """Write a new file, and leave its blocks of zeros as holes: they take no place on the disk."""
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
    """Exactly `size` bytes of a stream in pieces of at most 1 MiB. Raises `BadStream` where it ends before."""
    while size:
        block = stream.read(min(size, MIB))
        if not block:
            raise BadStream("it ends in the middle of a file")
        size -= len(block)
        yield block


def shown(name: bytes) -> str:
    """A stranger's name in an error: short, and without characters that control a terminal."""
    return ascii(os.fsdecode(name[:100]))
