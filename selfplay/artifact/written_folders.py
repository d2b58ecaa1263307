"""Looks at a folder before a command writes into it: what somebody shared must lead nowhere else, and nobody else may
put another folder in its place meanwhile.

No way to it leads over a link of another user; a folder of another user on the way is taken, as in a group's folder
where each member has one. Single files are written by a descriptor of their folder (`opened_folder`), so that it does
not matter who renames what.

A folder above it that all may write to, without the sticky bit, protects nobody, and is taken all the same: volumes of
containers are such.
"""

import contextlib
import errno
import grp
import os
import pwd
import stat
import struct
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from selfplay.artifact.reading import LINKS, MOST_DEPTH, MOST_ENTRIES, UntrustedDataError, refuse_second_name
from selfplay.formatting import shortened

OF_ONES_OWN = "Give a place of your own."
MOST_LINKS = 40
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_USER, _GROUP, _MASK, _WRITE = 2, 8, 16, 2
"""Of a POSIX list of rights: named users and groups, what these have at most, and the right itself."""
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def refuse_strange_below(
    root: Path, most: int = MOST_ENTRIES, unread: Collection[str] = (), *, alone: bool = False
) -> None:
    """Raises `UntrustedDataError` unless all below `root` is regular files and folders, `most` at most and none deeper
    than `MOST_DEPTH`: what is written into a folder that somebody shared would else be written where a link leads. No
    file may have a second name either, which an archive can give to a file beside the folder. `root` may be absent, or
    a link.

    `unread`: names of folders in `root` that are not looked into. `alone`: nobody but this user may change a folder of
    them, or what was looked at would be another thing a moment later; what
    stood open has been opened, perhaps, so a closed folder around it does not count. What another process removes
    meanwhile is passed over.
    """
    if alone and root.exists():
        _refuse_others(root.stat(), root)
    found, folders, depth = 0, [str(root)] if root.exists() else [], str(root).count("/")
    closed = {os.path.join(root, name) for name in unread}  # noqa: PTH118 - as `scandir` joins them
    while folders:
        for entry in _entries(folders.pop()):
            found += 1
            if found > most:
                raise UntrustedDataError(f"{root} holds more than {most} files")
            if entry.path.count("/") - depth > MOST_DEPTH:
                raise UntrustedDataError(f"{shortened(entry.path)} lies deeper than {MOST_DEPTH} folders", LINKS)
            if entry.is_dir(follow_symlinks=False):
                if alone:
                    _refuse_others(entry.stat(follow_symlinks=False), entry.path)
                folders += [] if entry.path in closed else [entry.path]
            elif not entry.is_file(follow_symlinks=False):
                raise UntrustedDataError(f"{shortened(entry.path)} is not a regular file", LINKS)
            else:
                with contextlib.suppress(FileNotFoundError):  # it is gone
                    refuse_second_name(entry.stat(follow_symlinks=False), entry.path)


def _refuse_others(status: os.stat_result, folder: Path | str) -> None:
    if others_may_write(status, folder) or not is_trusted(status.st_uid):
        raise UntrustedDataError(
            f"{shortened(folder)} can be changed by another user while it is written to",
            "Copy the run to a place of your own, `chmod -R go-w` the copy, and name it.",
        )


def others_may_write(status: os.stat_result, folder: Path | str) -> bool:
    """Whether the rights of a folder let another user write to it: by its mode, where a group counts unless it is this
    user's alone, or by its list of rights (POSIX; what a network file system keeps beside it is not read)."""
    by_group = bool(status.st_mode & stat.S_IWGRP) and not _is_ones_own_group(status.st_gid)
    return bool(status.st_mode & stat.S_IWOTH) or by_group or _list_lets_others_write(folder)


def _is_ones_own_group(group: int) -> bool:
    """Whether a group has this user alone, as far as names tell: most systems give each user a group of that name."""
    if group != os.getegid():
        return False
    try:
        return grp.getgrgid(group).gr_name == pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # as in a container that is run for any user
        return group == os.geteuid()


def _list_lets_others_write(folder: Path | str) -> bool:
    try:
        rights = os.getxattr(folder, "system.posix_acl_access", follow_symlinks=False)
    except OSError:  # there is none, or the file system has no such lists
        return False
    entries = list(struct.iter_unpack("<HHI", rights[4:]))
    mask = next((right for kind, right, _ in entries if kind == _MASK), _WRITE)
    return any(
        kind in (_USER, _GROUP) and right & mask & _WRITE and (kind, number) != (_USER, os.geteuid())
        for kind, right, number in entries
    )


def is_trusted(owner: int) -> bool:
    """Whether a folder of this user may be written into: one's own, or, for root, one of the user in whose folder it
    works, as in a container that has that user's folder."""
    if owner == os.geteuid():
        return True
    return os.geteuid() == 0 and owner == Path.cwd().stat().st_uid


def is_machines(owner: int) -> bool:
    """Whether this is the user whose folders the machine's own are: root, whatever number a container shows for it."""
    return owner in (0, Path("/").stat().st_uid)


def refuse_place_of_another(folder: Path) -> None:
    """Raises `UntrustedDataError` for a folder of another user, for one to which a link of another user leads, and for
    one that lies, or would lie, in a folder of another user, who could put another one in its place. Raises
    `OSError`."""
    place = folder
    if os.path.lexists(folder):
        os.close(opened_folder(folder))
        owner = folder.stat().st_uid
        if not is_trusted(owner):
            raise UntrustedDataError(f"{shortened(folder)} belongs to another user (uid {owner})", OF_ONES_OWN)
    while not os.path.lexists(place := place.absolute().parent):
        pass
    os.close(opened_folder(place))
    if not is_machines(owner := place.stat().st_uid) and not is_trusted(owner):
        raise UntrustedDataError(
            f"{shortened(folder)} would lie in a folder of another user, {shortened(place)} (uid {owner})", OF_ONES_OWN
        )


def refuse_temporary_of_another() -> None:
    """Raises `UntrustedDataError` if the temporary files of this process would lie where another user can put others in
    their place."""
    with contextlib.suppress(OSError):  # there is none: whoever needs one says so
        folder = Path(tempfile.gettempdir())
        status = folder.stat()
        closed = status.st_mode & stat.S_ISVTX or not others_may_write(status, folder)
        if not is_machines(status.st_uid) and not (closed and is_trusted(status.st_uid)):
            raise UntrustedDataError(
                f"another user may change what is in {shortened(folder)}, where temporary files would lie",
                "Set TMPDIR to a folder of your own.",
            )


def opened_folder(folder: Path) -> int:
    """A descriptor of a folder, by which files in it are written whatever is renamed meanwhile. Raises
    `UntrustedDataError` if a link of another user leads there, `OSError`."""
    left, followed = [*reversed(folder.absolute().parts)], 0
    with contextlib.ExitStack() as opened:
        here = os.open(left.pop(), _STEP)
        while left:
            opened.callback(os.close, here)
            found = _next(left.pop(), here)
            if not stat.S_ISLNK((status := os.fstat(found)).st_mode):
                here = found
                continue
            opened.callback(os.close, found)
            if not is_machines(status.st_uid) and not is_trusted(status.st_uid):
                who = f"a link of another user (uid {status.st_uid})"
                raise UntrustedDataError(f"{who} leads to {shortened(folder)}", OF_ONES_OWN)
            if (followed := followed + 1) > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(folder))
            here = os.dup(here)
            left += reversed(Path(os.readlink("", dir_fd=found)).parts)
        return here


def _next(name: str, here: int) -> int:
    """A descriptor of the folder, or of the link, of this name. A link of the kernel's own is followed by it: what it
    leads to has no path."""
    found = os.open(name, _STEP, dir_fd=here)
    status = os.fstat(found)
    if stat.S_ISLNK(status.st_mode) and status.st_dev == _device_of_processes():
        os.close(found)
        return os.open(name, os.O_PATH | os.O_CLOEXEC, dir_fd=here)
    return found


def _device_of_processes() -> int:
    try:
        return os.stat("/proc/self", follow_symlinks=False).st_dev  # noqa: PTH116 - the link itself
    except OSError:
        return -1


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except FileNotFoundError:
        return
    except OSError as error:  # too deep, or closed
        raise UntrustedDataError(f"{shortened(folder)} cannot be read: {error.strerror}", LINKS) from error
