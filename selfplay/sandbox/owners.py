"""Names that identify the process that owns a folder or a control group.

No later process gets the same name, so the next supervisor finds what a killed one left behind.
"""

import contextlib
import fcntl
import functools
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfplay import subprocesses
from selfplay.sandbox.kernel_text import kernel_text

PREFIX = "selfplay-"
AT_ONCE = 500
INNER = "own"
SHORT, MOST_SHORT, BEGUN_SECONDS = "sp-", 20, 60.0
"""Of folders with a short path: how their names begin, the longest path of the folder around them, and the age from
which on one that nobody holds has been left."""
ABANDONED_SECONDS = 3600.0
"""Age of a scratch folder of another namespace that nobody holds, after which it goes."""
_PID = re.compile("[1-9][0-9]{0,9}")


@functools.cache
def namespace() -> str:
    """The pid namespace of this process: in another namespace, the same number is another process. With a name of this
    machine since it was started: several may share a folder, and on all of them the first namespace has one number."""
    booted = kernel_text("/proc/sys/kernel/random/boot_id")[:8]
    return Path("/proc/self/ns/pid").readlink().name.strip("pid:[]") + booted


def identity(pid: int) -> str:
    """A process's pid and start time, which are unique together; the start time is 0 if the process is gone."""
    try:
        fields = kernel_text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    except OSError:
        return f"{pid}-0"
    return f"{pid}-{fields[19]}"


def dead(owner: str) -> bool:
    """Whether the process with this identity is dead. One of another user may be hidden (`hidepid`): whoever is there
    and cannot be seen lives."""
    pid = owner.partition("-")[0]
    if not _PID.fullmatch(pid):
        return True
    known = identity(int(pid))
    return known != owner and not (known.endswith("-0") and _is_there(int(pid)))


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def marked() -> str:
    """The common prefix of the names of everything this process owns."""
    return f"{PREFIX}{identity(os.getpid())}.{namespace()}."


def left_in(folder: Path) -> Iterator[Path]:
    """What dead processes of this pid namespace left in a folder; for other namespaces one cannot know who is alive."""
    for path in folder.glob(f"{PREFIX}*-*.{namespace()}.*"):
        if dead(path.name.removeprefix(PREFIX).partition(".")[0]):
            yield path


def remove(*folders: Path) -> bool:
    """Delete folders that may contain untrusted files at any depth; returns whether they are gone. Never raises.

    External programs do it: they use descriptors and loops, so that no depth causes a `RecursionError` or a name that
    is too long; they open no file, follow no link, and leave mounts below. Folders that forbid reading are first opened
    to their owner. One program deletes many folders: each costs 2 ms to start.
    """
    for command in (["rm"], ["chmod", "-R", "--", "u+rwx"], ["rm"]):
        left = [os.path.abspath(folder) for folder in folders if os.path.lexists(folder)]  # noqa: PTH100 - `resolve` would follow a link
        options = ["-rf", "--one-file-system", "--"] if command == ["rm"] else []
        for at in range(0, len(left), AT_ONCE):
            with contextlib.suppress(OSError):
                subprocesses.run([*command, *options, *left[at : at + AT_ONCE]])
    return not any(os.path.lexists(folder) for folder in folders)


@contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """A temporary folder, removed when the context ends, or by a later `sweep` if this process was killed.

    It lies in one that no other user may enter: what is made open in it, for the user of a sandbox, is so for nobody
    else of this machine."""
    with _held(marked(), parent) as folder:
        (inner := folder / INNER).mkdir(mode=0o700)
        yield inner


@contextmanager
def _held(prefix: str, parent: Path | None) -> Iterator[Path]:
    """A temporary folder with a name that begins so, locked until the context ends, and then removed."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_SH)
        yield folder
    finally:
        remove(folder)
        os.close(held)


@contextmanager
def short_scratch(parent: Path | None = None) -> Iterator[Path]:
    """A temporary folder like `scratch`, with a short path: a library that keeps its sockets deep in it has 107 bytes
    for theirs. Those that dead processes left go first."""
    place = parent or Path(tempfile.gettempdir())
    if len(os.fsencode(place)) > MOST_SHORT:
        place = Path("/tmp")
    for left in place.glob(f"{SHORT}*"):
        with contextlib.suppress(OSError):  # another process sweeps too
            status = left.lstat()
            if status.st_uid == os.geteuid() and time.time() - status.st_mtime > BEGUN_SECONDS and not _is_held(left):
                remove(left)
    with _held(SHORT, place) as folder:
        yield folder


def sweep(parent: Path | None = None) -> None:
    """Remove this user's scratch folders that killed processes left. A folder that cannot be removed is left for the
    next time, and does not stop the others."""
    place = parent or Path(tempfile.gettempdir())
    for folder in (*left_in(place), *_abandoned(place)):
        with contextlib.suppress(OSError):  # another supervisor sweeps too
            if folder.lstat().st_uid == os.geteuid():
                remove(folder)


def _abandoned(place: Path) -> Iterator[Path]:
    """Scratch folders that another start of this machine, or another container, made and nobody holds any more."""
    for folder in place.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            old = time.time() - folder.stat().st_mtime > ABANDONED_SECONDS
            if old and f".{namespace()}." not in folder.name and (folder / INNER).is_dir() and not _is_held(folder):
                yield folder


def _is_held(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
