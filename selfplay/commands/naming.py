"""The run's folder where no --out is given: named after its source, numbered where the name is another source's."""

import re
from itertools import count
from pathlib import Path

from selfplay.curriculum import CurriculumError, read_pool
from selfplay.repository.source import GitSource, ImageSource, PathSource, PypiSource, parse_source

RUNS = Path("runs")
LONGEST = 60


def default_out(source: str) -> Path:
    """`runs/NAME` of the source: the folder of its own run, which then resumes, or one that is free.

    Raises `SourceError` for what is no source."""
    name = name_of(source)
    folders = (RUNS / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(folder for folder in folders if _may_take(folder, source))


def name_of(source: str) -> str:
    """A source's last word as a folder's name."""
    match parse_source(source):
        case PathSource(path):
            last = path.resolve().name
        case GitSource(url):
            last = re.split(r"[/:]", url.rstrip("/"))[-1].removesuffix(".git")
        case PypiSource(name):
            last = name
        case ImageSource(path_inside):
            last = Path(path_inside or "image").name
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip("-.")[:LONGEST] or "run"


def _may_take(folder: Path, source: str) -> bool:
    """Whether nothing lies there, or a run of this source, or one that stopped before it had a source."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return True
    try:
        with read_pool(folder) as pool:
            return bool(pool.settings().get("source", source) == source)
    except CurriculumError:
        return False
