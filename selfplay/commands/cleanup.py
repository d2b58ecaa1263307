"""Removes what a killed run leaves in its folder: incomplete files and an incomplete tree. The next run does this while
it holds the folder's lock."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

from selfplay.sandbox.owners import remove

PLACES = (".", "bugs/*", "attempts", "attempts/*", "attempts/*/*", "trajectories", "staging/*")
"""The folders of a run that files are written into."""
UNFINISHED = re.compile(r"\..+\.[a-z0-9_]{8}")
"""The name of a file that `write_atomically` has not renamed yet."""
UNFINISHED_TREE = re.compile(r"\.original(-\d+)?\.\d+")
SHARED, SECONDS = ".calibration.json.", 60.0
"""Files that a grading process may be writing without the lock, and the age at which none is."""


def sweep(run: Path) -> None:
    """Remove the leftovers. Links are left alone."""
    for path in list(_left(run)):
        if path.is_dir():
            remove(path)
        else:
            path.unlink(missing_ok=True)


def _left(run: Path) -> Iterator[Path]:
    for place in PLACES:
        for folder in run.glob(place) if place != "." else (run,):
            if not folder.is_dir() or folder.is_symlink():
                continue
            for path in folder.iterdir():
                if path.is_symlink():
                    continue
                if path.is_dir() and folder == run and UNFINISHED_TREE.fullmatch(path.name):
                    yield path
                if path.is_file() and UNFINISHED.fullmatch(path.name) and not _in_work(path):
                    yield path


def _in_work(path: Path) -> bool:
    return path.name.startswith(SHARED) and time.time() - path.stat().st_mtime < SECONDS
