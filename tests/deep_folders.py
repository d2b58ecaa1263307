"""Folders in folders, deeper than any path reaches."""

import os
from pathlib import Path


def deepen(folder: Path, levels: int) -> None:
    """Folders `d` in folders below an existing one, made step by step, and an empty `file` in the last."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT, dir_fd=here))
    os.close(here)


def deep(folder: Path, levels: int) -> None:
    """A new folder that is so deep."""
    folder.mkdir()
    deepen(folder, levels)
