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
    """The pid namespace of this process: in another namespace, the same number is another process."""
    return Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")


def identity(pid: int) -> str:
    """A process's pid and start time, which are unique together; start time 0 for a process that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return f"{pid}-0"
    return f"{pid}-{fields[19]}"


def dead(owner: str) -> bool:
    """Whether the process of that identity is dead."""
    pid = owner.partition("-")[0]
    return not pid.isdigit() or identity(int(pid)) != owner


def marked() -> str:
    """The common prefix of the names of everything this process owns."""
    return f"{PREFIX}{identity(os.getpid())}.{namespace()}."


def left_in(folder: Path) -> Iterator[Path]:
    """What dead processes of this pid namespace left there; for other namespaces it is unknown who is alive."""
    for path in folder.glob(f"{PREFIX}*-*.{namespace()}.*"):
        if dead(path.name.removeprefix(PREFIX).partition(".")[0]):
            yield path


@contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """A temporary folder, removed when the context ends, or by a later `sweep` if this process was killed."""
    with tempfile.TemporaryDirectory(prefix=marked(), dir=parent, ignore_cleanup_errors=True) as name:
        yield Path(name)


def sweep(parent: Path | None = None) -> None:
    """Remove this user's scratch folders that killed processes left."""
    for folder in left_in(parent or Path(tempfile.gettempdir())):
        if folder.lstat().st_uid == os.geteuid():
            shutil.rmtree(folder, ignore_errors=True)
