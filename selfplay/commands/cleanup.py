"""What a killed run leaves in its folder: files and a tree that were not whole yet. The next run, which holds the
folder's lock, removes them."""

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
"""What a process that grades may write at this moment, without the lock, and the age at which none does any more."""


def sweep(run: Path) -> None:
    """Remove them. Links are left alone."""
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
