"""Runs in a sandbox: writes a folder to standard output as frames, which `repository/files/unpack.py` reads outside.

Arguments: the folder, and optionally a file of null-terminated paths beneath it, to send only those. Regular files,
folders and links are sent, parents before their contents and sorted by name; anything else is left out. A frame is a
header, a path relative to the folder, and a content; the last frame is END. A file is sent with the size it has when it
is opened; if it shrinks, zeros are sent. Every folder is opened from its parent's descriptor and never through a link,
so that a concurrent change of the tree cannot lead elsewhere.

On the host, the second argument may be `--owner UID`, the folder's expected owner: the folder is then read with that
user's rights only, and it is an error if the user cannot read all of it. Names after it are of files in the folder, to
send only those.
"""

import contextlib
import os
import stat
import struct
import sys

HEAD = struct.Struct("!BBqIQ")  # kind, whether executable, mtime in nanoseconds, bytes of the path, of the content
END, FILE, FOLDER, LINK = range(4)
DEPTH = 101
"""Deeper folders are not opened. This is one more than the reader allows, so that the reader reports it."""
BLOCK = 1 << 20
OPENING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
PASSING = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NOBODY = 65534


def head(kind, path, size, executable=False, mtime=0):
    return HEAD.pack(kind, executable, mtime, len(path), size) + path


class Below:
    """The contents of an open folder, reached name by name, never through a link. The folders of the last path stay
    open, so replacing one of them by a link has no effect."""

    def __init__(self, root):
        self.root = root
        self.kept = []
        self.closed = ""  # the first path that could not be read

    def folder(self, path):
        """A descriptor of this folder, valid until the next call."""
        names = path.split(b"/") if path else []
        same = 0
        while same < min(len(names), len(self.kept)) and self.kept[same][0] == names[same]:
            same += 1
        self.leave(same)
        for name in names[same:]:
            self.kept.append((name, os.open(name, PASSING, dir_fd=self.here())))
        return self.here()

    def here(self):
        return self.kept[-1][1] if self.kept else self.root

    def leave(self, kept):
        while len(self.kept) > kept:
            os.close(self.kept.pop()[1])

    def parent(self, path):
        """(a descriptor of the parent folder, the name in it)"""
        folder, _, name = path.rpartition(b"/")
        return self.folder(folder), name

    @contextlib.contextmanager
    def listing(self, path):
        """The entries of one folder; empty if it cannot be read."""
        try:
            folder = os.open(b".", OPENING | os.O_DIRECTORY, dir_fd=self.folder(path))
        except OSError as error:
            self.refused(path, error)
            yield ()
            return
        try:
            with os.scandir(folder) as entries:
                yield entries
        finally:
            os.close(folder)

    def refused(self, path, error):
        if isinstance(error, PermissionError) and not self.closed:
            self.closed = repr(os.fsdecode(path))[:300]


@contextlib.contextmanager
def opened(folder):
    """Open a folder that is not a link."""
    root = os.open(folder, OPENING | os.O_DIRECTORY)
    below = Below(root)
    try:
        yield below
    finally:
        below.leave(0)
        os.close(root)


def walk(below):
    """(path, kind) of everything beneath an open folder, parents first."""
    waiting = [(b"", FOLDER)]
    while waiting:
        path, kind = waiting.pop()
        if path:
            yield path, kind
        if kind == FOLDER and path.count(b"/") + 1 < DEPTH:
            waiting += reversed([(path + b"/" + name if path else name, kind) for name, kind in listed(below, path)])


def listed(below, path):
    """(name, kind) of the entries of one folder, sorted."""
    with below.listing(path) as entries:
        found = [(os.fsencode(entry.name), kind_of(entry)) for entry in entries]
    return sorted((name, kind) for name, kind in found if kind)


def kind_of(entry):
    if entry.is_symlink():
        return LINK
    if entry.is_dir(follow_symlinks=False):
        return FOLDER
    return FILE if entry.is_file(follow_symlinks=False) else None


def chosen(below, paths):
    """(path, kind) of the listed paths that are regular files or links."""
    for path in paths:
        try:
            folder, name = below.parent(path)
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            yield path, FILE if stat.S_ISREG(mode) else LINK


def send_file(below, path, out):
    try:
        folder, name = below.parent(path)
        source = os.open(name, OPENING, dir_fd=folder)
    except OSError as error:
        below.refused(path, error)
        return
    try:
        status = os.fstat(source)
        if not stat.S_ISREG(status.st_mode):
            return
        left = status.st_size
        out.write(head(FILE, path, left, bool(status.st_mode & 0o100), status.st_mtime_ns))
        while left:
            block = os.read(source, min(left, BLOCK)) or bytes(min(left, BLOCK))
            out.write(block)
            left -= len(block)
    finally:
        os.close(source)


def send_link(below, path, out):
    try:
        folder, name = below.parent(path)
        target = os.readlink(name, dir_fd=folder)
    except OSError as error:
        below.refused(path, error)
        return
    out.write(head(LINK, path, len(target)) + target)


def pack(below, out, paths=None):
    for path, kind in walk(below) if paths is None else chosen(below, paths):
        if kind == FILE:
            send_file(below, path, out)
        elif kind == LINK:
            send_link(below, path, out)
        else:
            out.write(head(FOLDER, path, 0))
    out.write(head(END, b"", 0))
    out.flush()


def become(root, owner):
    """Switch from root to the user that must own the open folder."""
    if os.fstat(root).st_uid != owner:
        sys.exit("it has another owner now")
    if os.geteuid() != 0 or owner == 0:
        return
    import pwd

    try:
        person = pwd.getpwuid(owner)
        group, groups = person.pw_gid, os.getgrouplist(person.pw_name, person.pw_gid)
    except KeyError:  # a user without a name
        group, groups = NOBODY, []
    os.setgroups(groups)
    os.setresgid(group, group, group)
    os.setresuid(owner, owner, owner)


def main(folder, listing=None, owner=None, *only):
    paths = [os.fsencode(name) for name in only] or None
    if owner is None and listing is not None:
        with open(listing, "rb") as stream:
            paths = [path for path in stream.read().split(b"\0") if path]
    with open(1, "wb", buffering=1 << 18, closefd=False) as out, opened(os.fsencode(folder)) as below:
        if owner is not None:
            become(below.root, int(owner))
        pack(below, out, paths)
        if owner is not None and below.closed:
            sys.exit("its owner cannot read " + below.closed)


if __name__ == "__main__":
    main(*sys.argv[1:])
