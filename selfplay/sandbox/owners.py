"""Names that say which process owns a folder or a control group.

No later process has the same name, so the next supervisor finds what a killed one left behind.
"""

import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "selfplay-"


@functools.cache
def namespace() -> str:
    """The pid namespace of this process: in another, its process numbers are somebody else's."""
    return Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")


def identity(pid: int) -> str:
    """A process's pid and start time, which together no later process has; start time 0 for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return f"{pid}-0"
    return f"{pid}-{fields[19]}"


def dead(owner: str) -> bool:
    """Whether the process of that identity lives no longer."""
    pid = owner.partition("-")[0]
    return not pid.isdigit() or identity(int(pid)) != owner


def marked() -> str:
    """The start of every name of something that this process owns."""
    return f"{PREFIX}{identity(os.getpid())}.{namespace()}."


def left_in(folder: Path) -> Iterator[Path]:
    """What dead processes of this pid namespace left there: of another one, nobody here can tell whether it lives."""
    for path in folder.glob(f"{PREFIX}*-*.{namespace()}.*"):
        if dead(path.name.removeprefix(PREFIX).partition(".")[0]):
            yield path


@contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """A temporary folder, gone when the context ends, or at a later `sweep` when this process is killed."""
    with tempfile.TemporaryDirectory(prefix=marked(), dir=parent, ignore_cleanup_errors=True) as name:
        yield Path(name)


def sweep(parent: Path | None = None) -> None:
    """Remove the scratch folders, of this user's, that killed processes left."""
    for folder in left_in(parent or Path(tempfile.gettempdir())):
        if folder.lstat().st_uid == os.geteuid():
            shutil.rmtree(folder, ignore_errors=True)
