"""Digests of a result's sources: the stored episodes of runs and the files of a model. They tell whether the sources
have changed since."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import astuple
from pathlib import Path
from typing import Any

from selfplay.curriculum import read_pool
from selfplay.curriculum.crediting import episodes_of
from selfplay.curriculum.stored_bugs import trajectory_of
from selfplay.oracle.assurance import Weak
from selfplay.update.errors import LearningError
from selfplay.user_paths import expanded


def credited_sources(runs: Iterable[Path], policy: str | None, weak: Weak) -> str:
    """The digest of the episodes for `learn`: their results, and the sizes of their trajectories. Raises
    `CurriculumError`."""
    found = [[*astuple(one), _size(run, one.trajectory)] for run in runs for one in episodes_of(run, policy, weak)]
    return _digest(found)


def lesson_sources(runs: Iterable[Path]) -> str:
    """The digest of the episodes for `sft`: all successes of any policy. Raises `CurriculumError`."""
    found: list[Any] = []
    for run in runs:
        with read_pool(run) as pool:
            made = [(one.number, one.repository, one.trajectory) for one in pool.episodes.with_bugs()]
            solved = [one for one in pool.attempts.all(diffs=False) if one.resolved]
        found += [[*one, _size(run, one[2])] for one in made]
        found += [[one.bug, one.policy, one.number, one.trajectory, _size(run, one.trajectory)] for one in solved]
    return _digest(found)


def model_files(model: str) -> str:
    """The digest of a model's folder: names, sizes and times of its files. Empty for a hub name. Raises
    `LearningError` for a home that nobody has."""
    folder = expanded(model, LearningError)
    if not folder.is_dir():
        return ""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return _digest([[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files])


def _size(run: Path, trajectory: str) -> int:
    return path.stat().st_size if trajectory and (path := trajectory_of(run, trajectory)).is_file() else -1


def _digest(found: list[Any]) -> str:
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]
