"""Runs in a sandbox: writes a folder to standard output as frames, which `repository/unpack.py` reads outside.

Arguments: the folder, and optionally a file of null-terminated paths beneath it, to send only those. Regular files,
folders and links are sent, parents before their contents and in the order of their names; anything else is left out. A
frame is a header, a path relative to the folder, and a content; the last frame is END. A file is sent with the size it
has when it is opened: what is missing of it later is sent as zeros.
"""

import errno
import os
import stat
import struct
import sys

HEAD = struct.Struct("!BBqIQ")  # kind, whether executable, mtime in nanoseconds, bytes of the path, of the content
END, FILE, FOLDER, LINK = range(4)
DEPTH = 101
"""Folders deeper than that are not opened: one more than the reader allows, so that it says so."""
BLOCK = 1 << 20
OPENING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def head(kind, path, size, executable=False, mtime=0):
    return HEAD.pack(kind, executable, mtime, len(path), size) + path


def walk(root):
    """(path, kind) of everything beneath an open folder, parents first."""
    waiting = [(b"", FOLDER)]
    while waiting:
        path, kind = waiting.pop()
        if path:
            yield path, kind
        if kind == FOLDER and path.count(b"/") + 1 < DEPTH:
            waiting += reversed([(path + b"/" + name if path else name, kind) for name, kind in listed(root, path)])


def listed(root, path):
    """(name, kind) of the entries of one folder, sorted."""
    try:
        folder = os.open(path or b".", OPENING | os.O_DIRECTORY, dir_fd=root)
    except OSError:  # unreadable
        return []
    try:
        with os.scandir(folder) as entries:
            found = [(os.fsencode(entry.name), kind_of(entry)) for entry in entries]
    finally:
        os.close(folder)
    return sorted((name, kind) for name, kind in found if kind)


def kind_of(entry):
    if entry.is_symlink():
        return LINK
    if entry.is_dir(follow_symlinks=False):
        return FOLDER
    return FILE if entry.is_file(follow_symlinks=False) else None


def chosen(root, paths):
    """(path, kind) of the listed paths that are regular files or links."""
    for path in paths:
        try:
            mode = os.stat(path, dir_fd=root, follow_symlinks=False).st_mode
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            yield path, FILE if stat.S_ISREG(mode) else LINK


def send_file(root, path, out):
    try:
        source = os.open(path, OPENING, dir_fd=root)
    except OSError as error:  # unreadable
        if error.errno == errno.ENAMETOOLONG:
            out.write(head(FILE, path, 0))  # the reader says that it is too long
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


def send_link(root, path, out):
    try:
        target = os.readlink(path, dir_fd=root)
    except OSError:
        return
    out.write(head(LINK, path, len(target)) + target)


def pack(folder, out, paths=None):
    root = os.open(folder, OPENING | os.O_DIRECTORY)
    try:
        for path, kind in walk(root) if paths is None else chosen(root, paths):
            if kind == FILE:
                send_file(root, path, out)
            elif kind == LINK:
                send_link(root, path, out)
            else:
                out.write(head(FOLDER, path, 0))
        out.write(head(END, b"", 0))
        out.flush()
    finally:
        os.close(root)


def main(folder, listing=None):
    paths = None
    if listing is not None:
        with open(listing, "rb") as stream:
            paths = [path for path in stream.read().split(b"\0") if path]
    with open(1, "wb", buffering=1 << 18, closefd=False) as out:
        pack(os.fsencode(folder), out, paths)


if __name__ == "__main__":
    main(*sys.argv[1:])
