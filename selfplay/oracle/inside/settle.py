"""Writes every file and folder of a tree anew, in order of the paths, so that no time or number says what was changed.

Runs as `python3 -I -S`. A bug's diffs write some files later than the tree was laid out, often on another file system:
`ls -lt` would name them. Argument: the seconds that all files and folders get as their time. A tree of which a second
copy has no room keeps the numbers, and its files get that time.
"""

import contextlib
import errno
import os
import shutil
import stat
import sys

BLOCK = 1 << 20
NEW = b".selfplay-new"


def folders(top):
    """Every folder below `top`, itself first, in order; unreadable ones are made readable. No link is followed."""
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            with contextlib.suppress(OSError):
                os.chmod(folder, stat.S_IMODE(os.lstat(folder).st_mode) | 0o700)
        yield folder
        inner = [name for name in os.listdir(folder) if is_folder(os.path.join(folder, name))]
        waiting += [os.path.join(folder, name) for name in sorted(inner, reverse=True)]


def is_folder(path):
    return stat.S_ISDIR(os.lstat(path).st_mode)


def renew(name, status, folder):
    """Replace a file or a link in an open folder by a copy of itself; what is neither, or cannot be read, stays."""
    try:
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=folder), NEW, dir_fd=folder)
        elif stat.S_ISREG(status.st_mode):
            copy(name, status, folder)
        else:
            return
        os.rename(NEW, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM):
            raise


def copy(name, status, folder):
    if not os.access(name, os.R_OK, dir_fd=folder):
        os.chmod(name, stat.S_IMODE(status.st_mode) | 0o400, dir_fd=folder)
    old = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    new = os.open(NEW, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    with open(old, "rb") as source, open(new, "wb") as target:
        shutil.copyfileobj(source, target, BLOCK)
        target.flush()
        os.fchmod(new, stat.S_IMODE(status.st_mode))


def renew_folder(folder):
    """Replace a folder by a new one with the same entries: an old one is larger for each that was deleted from it."""
    parent = os.path.dirname(folder)
    new = os.path.join(parent, NEW)
    mode = stat.S_IMODE(os.lstat(folder).st_mode)
    os.mkdir(new, 0o700)
    for name in sorted(os.listdir(folder)):
        os.rename(os.path.join(folder, name), os.path.join(new, name))
    os.rmdir(folder)
    os.rename(new, folder)
    os.chmod(folder, mode)


def has_room(top):
    """Whether the files of the tree fit into what is free, twice over."""
    space, taken = os.statvfs(top), 0
    for folder in folders(top):
        for name in os.listdir(folder):
            taken += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return 2 * taken < space.f_bavail * space.f_frsize


def settle(top, seconds):
    renewing, every = has_room(top), list(folders(top))
    for path in every:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)  # names below it are short
        for name in sorted(map(os.fsencode, os.listdir(folder))):
            status = os.lstat(name, dir_fd=folder)
            if stat.S_ISDIR(status.st_mode):
                continue
            if renewing:
                renew(name, status, folder)
            date(os.path.join(path, name), seconds, always=renewing)
        os.close(folder)
    for folder in reversed(every) if renewing else ():
        if folder != top:
            renew_folder(folder)
    for folder in every:
        date(folder, seconds, always=True)


def date(path, seconds, always):
    """Give a file its time. Where nothing is renewed, a file that has it is left alone: it would be copied."""
    if always or os.lstat(path).st_mtime != seconds:
        with contextlib.suppress(PermissionError):  # another's file, which no diff wrote
            os.utime(path, (seconds, seconds), follow_symlinks=False)


if __name__ == "__main__":
    settle(b".", int(sys.argv[1]))
