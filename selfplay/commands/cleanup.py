"""Removes what a killed run leaves in its folder: incomplete files and an incomplete tree. The next run does this while
it holds the folder's lock."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

from selfplay.sandbox.owners import remove

PLACES = {"": 0, "bugs": 1, "attempts": 2, "trajectories": 0, "staging": 1}
"""The folders of a run that files are written into, and how many levels of folders below them too."""
UNFINISHED = re.compile(r"\..+\.[a-z0-9_]{8}")
"""The name of a file that `write_atomically` has not renamed yet."""
UNFINISHED_TREE = re.compile(r"\.original(-\d+)?\.\d+")
SHARED, SECONDS = ".calibration.json.", 60.0
"""Files that a grading process may be writing without the lock, and the age at which none is."""


def sweep(run: Path) -> None:
    """Remove the leftovers. No link is followed, wherever it stands on the way: a run may be a stranger's."""
    for path in list(_left(run)):
        if path.is_dir():
            remove(path)
        else:
            path.unlink(missing_ok=True)


def _left(run: Path) -> Iterator[Path]:
    for place, levels in PLACES.items():
        for folder in _folders(run / place if place else run, levels):
            for path in _inside(folder):
                if folder == run and UNFINISHED_TREE.fullmatch(path.name) and path.is_dir():
                    yield path
                if path.is_file() and UNFINISHED.fullmatch(path.name) and not _in_work(path):
                    yield path


def _folders(top: Path, levels: int) -> Iterator[Path]:
    """A folder and those below it, so many levels deep."""
    if top.is_symlink() or not top.is_dir():
        return
    yield top
    for inner in _inside(top) if levels else ():
        if inner.is_dir():
            yield from _folders(inner, levels - 1)


def _inside(folder: Path) -> list[Path]:
    """What is in a folder, without links."""
    return [path for path in folder.iterdir() if not path.is_symlink()]


def _in_work(path: Path) -> bool:
    return path.name.startswith(SHARED) and time.time() - path.stat().st_mtime < SECONDS
