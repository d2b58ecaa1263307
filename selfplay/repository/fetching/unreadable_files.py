"""Finds files of a source that are needed but that the sandbox's user cannot read: the host then copies the source.
Inside only.

Of a git repository, only its git folder and the files of the commit are needed. Ignored and new files are not taken, so
unreadable ones among them do not make the host copy a checkout.
"""

import os
import stat
import tempfile
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.gitdir import GitError
from selfplay.repository.fetching.local import MAX_OBJECTS, adopt, walk
from selfplay.repository.fetching.reading import COMMON, SOURCE, ReadOrder
from selfplay.repository.fetching.trees import measured

MOST = 10_000
"""Number of files checked; if more are unreadable, the source is copied."""


def first_closed(order: ReadOrder) -> str:
    """The first needed file or folder that cannot be read; empty if all can be read."""
    found = list(islice(unreadable(Path(SOURCE)), MOST))
    if path := next(unreadable(Path(COMMON)), ""):
        return path
    if not found or order.kind != "checkout" or len(found) == MOST or "." in found:
        return next(iter(found), "")
    needed = _tracked(order)
    return next((path for path in found if needed is None or _is_needed(path, *needed)), "")


def unreadable(root: Path) -> Iterator[str]:
    """The files and folders below `root` that this process cannot read; `.` for `root` itself."""
    if not os.path.lexists(root):
        return
    if not os.access(root, os.R_OK | os.X_OK):
        yield "."
        return
    for folder, name, mode in walk(root, most=MAX_OBJECTS):
        wanted = os.R_OK | os.X_OK if stat.S_ISDIR(mode) else os.R_OK
        if (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and not os.access(folder / name, wanted):
            yield (folder / name).relative_to(root).as_posix()


def _tracked(order: ReadOrder) -> tuple[frozenset[str], frozenset[str]] | None:
    """(HEAD's files with the folders around them; its submodules). None if the files themselves are taken, or nothing
    is known."""
    try:
        source = adopt(Path(order.git), Path(tempfile.mkdtemp(), "closed.git"), order.moved)
        head = source.line("rev-parse", "--verify", "--quiet", "HEAD^{tree}")
        measured(source, head)
        entries = list(source.entries(head))
    except (SourceError, GitError, OSError):
        return None  # reading it will report the error
    around = {str(folder) for entry in entries for folder in PurePosixPath(entry.path).parents}
    tracked = frozenset(around | {entry.path for entry in entries})
    modules = frozenset(entry.path for entry in entries if entry.mode == "160000")
    return (tracked, modules) if order.subfolder in tracked else None


def _is_needed(path: str, tracked: Collection[str], modules: Collection[str]) -> bool:
    parents = [str(folder) for folder in PurePosixPath(path).parents]
    return path in tracked or parents[0] == ".git" or ".git" in parents or any(one in modules for one in parents)
