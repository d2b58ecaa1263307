"""Whose folder it is, and who else may change it: asked before anything is written or kept there.

No way to it leads over a link of another user; a folder of another user on the way is taken, as in a group's folder
where each member has one. Single files are written by a descriptor of their folder (`opened_folder`), so that it does
not matter who renames what. A folder above that all may write to, without the sticky bit, protects nobody, and is taken
all the same: volumes of containers are such.
"""

import contextlib
import errno
import functools
import grp
import os
import pwd
import stat
import struct
import tempfile
from itertools import takewhile
from pathlib import Path

from selfplay.errors import SelfplayError
from selfplay.formatting import shortened

OF_ONES_OWN = "Give a place of your own."
MOST_LINKS = 40
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_USER, _GROUP, _MASK, _WRITE = 2, 8, 16, 2
"""Of a POSIX list of rights: named users and groups, what these have at most, and the right itself."""
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderOfAnother(SelfplayError):
    """A place that another user owns, may change, or led to."""


def is_trusted(owner: int) -> bool:
    """Whether a folder of this user may be written into: one's own, or, for root, one of the user in whose folder it
    works, if that one has no account here, as in a container that has a folder of the machine around it, or became root
    by sudo. Any other could exchange folders while root writes into them."""
    if owner == os.geteuid():
        return True
    return not os.geteuid() and owner == Path.cwd().stat().st_uid and not _is_somebody_else(owner)


def _is_somebody_else(user: int) -> bool:
    """For root: whether this user has an account here, and is not who became root by sudo."""
    try:
        return bool(pwd.getpwuid(user).pw_uid) and str(user) != os.environ.get("SUDO_UID")
    except KeyError:
        return False


def is_machines(owner: int) -> bool:
    """Whether this is the user whose folders the machine's own are: root, whatever number a container shows for it."""
    return owner in (0, Path("/").stat().st_uid)


def refuse_place_of_another(folder: Path) -> None:
    """Raises `FolderOfAnother` for a folder of another user, for one to which a link of another user leads, and for
    one that lies, or would lie, in a folder of another user, who could put another one in its place; for root that is
    one at any depth, for others the folder around it. Raises `OSError`."""
    place = folder
    if os.path.lexists(folder):
        os.close(opened_folder(folder))
        owner = folder.stat().st_uid
        if not is_trusted(owner):
            raise FolderOfAnother(f"{shortened(folder)} belongs to another user (uid {owner})", OF_ONES_OWN)
    while not os.path.lexists(place := place.absolute().parent):
        pass
    os.close(opened_folder(place))
    for above in (place, *place.parents) if not os.geteuid() else (place,):
        owner = above.stat().st_uid
        strange = above == place and not is_machines(owner) and not is_trusted(owner)
        if strange or (not os.geteuid() and _is_somebody_else(owner)):
            message = f"{shortened(folder)} would lie in a folder of another user, {shortened(above)} (uid {owner})"
            raise FolderOfAnother(message, OF_ONES_OWN)


def rights_of(*folders: Path) -> int:
    """What others may do, at most, with what is made of these folders, as a mode: what each of them lets them do."""
    return functools.reduce(int.__and__, (folder.stat().st_mode | 0o700 for folder in folders), 0o777)


def make_closed(folder: Path) -> None:
    """Make a folder and those above it that are missing, each closed to others, whatever the user's mask says. Raises
    `OSError`."""
    for place in (*reversed(missing_folders(folder)), folder):
        place.mkdir(0o700, exist_ok=True)


def missing_folders(folder: Path) -> list[Path]:
    """Of a folder and those above it the ones that do not exist, the innermost first."""
    return list(takewhile(lambda place: not os.path.lexists(place), (folder, *folder.parents)))


def refuse_temporary_of_another() -> None:
    """Raises `FolderOfAnother` if the temporary files of this process would lie where another user can put others in
    their place."""
    with contextlib.suppress(OSError):  # there is none: whoever needs one says so
        folder = Path(tempfile.gettempdir())
        status = folder.stat()
        closed = status.st_mode & stat.S_ISVTX or not others_may_write(status, folder)
        if not is_machines(status.st_uid) and not (closed and is_trusted(status.st_uid)):
            raise FolderOfAnother(
                f"another user may change what is in {shortened(folder)}, where temporary files would lie",
                "Set TMPDIR to a folder of your own.",
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


def opened_folder(folder: Path) -> int:
    """A descriptor of a folder, by which files in it are written whatever is renamed meanwhile. Raises
    `FolderOfAnother` if a link of another user leads there, `OSError`."""
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
                raise FolderOfAnother(f"{who} leads to {shortened(folder)}", OF_ONES_OWN)
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
