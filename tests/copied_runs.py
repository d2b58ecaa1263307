"""Copies of runs that tests share."""

import shutil
from pathlib import Path


def copy_of(run: Path, out: Path) -> Path:
    """A copy of a finished run. Another worker may be reading it: SQLite's files of open connections come and go, and
    hold nothing once a run has ended."""
    return Path(shutil.copytree(run, out, ignore=shutil.ignore_patterns("*.sqlite-wal", "*.sqlite-shm")))
