"""The folder when --out is not given. A run's is named after its source, with a number if another source has that name;
what is made of a run is named after the run and what it is, and lies beside it."""

import re
from itertools import count
from pathlib import Path

from selfplay.curriculum import CurriculumError, read_pool
from selfplay.curriculum.trust import is_own
from selfplay.owned_folders import is_trusted
from selfplay.repository.fetching.source import GitSource, ImageSource, PathSource, PypiSource, is_list, parse_source

RUNS = Path("runs")
LONGEST = 60


def default_out(source: str, what: str = "") -> Path:
    """`runs/NAME` of the source, or `runs/NAME-WHAT`: the folder of this source's own run, which then resumes, or a
    free one.

    Raises `SourceError` for a string that is not a source, `CurriculumError` where `runs` is a link."""
    _refuse_link(RUNS)
    name = name_of(source) + (f"-{what}" if what else "")
    folders = (RUNS / (name if number == 1 else f"{name}-{number}") for number in count(1))
    recorded = Path(source).name if is_list(source) else source
    return next(folder for folder in folders if _may_take(folder, recorded))


def made_of(run: Path, what: str, *, anew: bool = False) -> Path:
    """`runs/RUN-WHAT`: the folder of what a command makes of a run or a bug. `anew`: one that is free, with a number if
    need be; else the same folder each time, in which that command goes on, or says that it cannot. Raises
    `CurriculumError` for a folder that is there and that this user did not make: a checkout may bring one."""
    _refuse_link(RUNS)
    name = _plain(f"{run.resolve().name}-{what}")
    if not anew:
        _refuse_link(RUNS / name)
        if (RUNS / name).is_dir() and not _free(RUNS / name) and not is_own(RUNS / name):
            raise CurriculumError(f"{RUNS / name} was not made here", "Give an --out; that folder, if you mean it.")
        return RUNS / name
    folders = (RUNS / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(folder for folder in folders if _free(folder))


def name_of(source: str) -> str:
    """The last part of a source, or of the name of a list of sources, as a folder name."""
    if is_list(source):
        return _plain(Path(source).stem)
    match parse_source(source):
        case PathSource(path):
            last = path.resolve().name
        case GitSource(url):
            last = re.split(r"[/:]", url.rstrip("/"))[-1].removesuffix(".git")
        case PypiSource(name):
            last = name
        case ImageSource(path_inside):
            last = Path(path_inside or "image").name
    return _plain(last)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:LONGEST] or "run"


def _refuse_link(folder: Path) -> None:
    """Raises `CurriculumError` for a link in the place of what nobody named: a checkout may hold one that leads
    anywhere."""
    if folder.is_symlink():
        raise CurriculumError(f"{folder} is a link: what is written there may lie anywhere", "Give an --out.")


def _free(folder: Path) -> bool:
    if folder.is_symlink():
        return False
    return not folder.exists() or (folder.is_dir() and is_trusted(folder.stat().st_uid) and not any(folder.iterdir()))


def _may_take(folder: Path, source: str) -> bool:
    """Whether the folder is free, or holds a run that this user made, of this source or stopped before it had one. A
    checkout may bring a run of somebody else."""
    if _free(folder):
        return True
    if folder.is_symlink():
        return False
    try:
        with read_pool(folder) as pool:
            return is_own(folder) and bool(pool.settings().get("source", source) == source)
    except CurriculumError:
        return False
