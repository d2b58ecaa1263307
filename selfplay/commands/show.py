"""What `selfplay show` reads: a run, a bug or a trajectory, as a value for pages and JSON."""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from selfplay.agent.trajectory import Trajectory
from selfplay.agent.trajectory_file import load_with_rollout
from selfplay.artifact import Artifact, ArtifactError, Bug, load
from selfplay.artifact.bug import BUG_FILE, is_weakened
from selfplay.artifact.files import FILE_NAMES
from selfplay.curriculum import CurriculumError, read_pool
from selfplay.curriculum.attempts import ATTEMPT_FILE
from selfplay.curriculum.calibrations import CALIBRATION_FILE
from selfplay.curriculum.solving import solves
from selfplay.curriculum.stored_bugs import load_own, read_attempt
from selfplay.curriculum.summary import read_summary, summarise
from selfplay.curriculum.untrusted_sqlite import OWN_FILES
from selfplay.loop.metrics import METRICS, read_history
from selfplay.plain_text import shown
from selfplay.rollout.stored import Header, read_header


@dataclass(frozen=True)
class SeenRun:
    """A run's figures, computed from its pool now; for a training run also those of its steps."""

    summary: dict[str, Any]
    steps: list[dict[str, Any]]

    def to_json(self) -> Any:
        """`stopped` and `cost` are null until the run has written them."""
        told = {"stopped": None, "cost": None, **self.summary}
        return {**told, "steps": self.steps} if self.steps else told


@dataclass(frozen=True)
class SeenBug:
    """A bug, its five files, its failed attempt (second order), and how often each policy solved it (None: the bug is
    not in a run)."""

    bug: Bug
    artifact: Artifact
    attempt: str
    solved: Mapping[str, Mapping[str, int]] | None

    def to_json(self) -> Any:
        files = {name: shown(text) for name, text in self.artifact.texts().items()}
        return {**self.bug.model_dump(mode="json"), "files": files, "attempt_diff": self.attempt, "solved": self.solved}


@dataclass(frozen=True)
class SeenEpisode:
    """One trajectory, and what was recorded of the rollout that it is part of."""

    trajectory: Trajectory
    rollout: Header | None = None

    def to_json(self) -> Any:
        recorded = None if self.rollout is None else self.rollout.model_dump(mode="json")
        return {**_plain(asdict(self.trajectory)), "rollout": recorded}


OURS = {
    BUG_FILE: "a bug",
    **dict.fromkeys(FILE_NAMES.values(), "a bug"),
    ATTEMPT_FILE: "a bug",
    CALIBRATION_FILE: "a bug",
    **dict.fromkeys(OWN_FILES, "a run"),
    METRICS: "a run",
}
"""File that we write -> whose folder holds it."""
Seen = SeenRun | SeenBug | SeenEpisode


def look(path: Path) -> Seen:
    """The run, bug or trajectory at `path`. Raises `SelfplayError` if it is damaged or selfplay did not write it."""
    if path.exists() and not path.is_dir():
        if path.name in OURS:
            raise ArtifactError(f"{path} is a file of {OURS[path.name]}", "Name its folder.")
        trajectory, recorded = load_with_rollout(path)
        return SeenEpisode(trajectory, None if recorded is None else read_header(recorded, path))
    if os.path.lexists(path / BUG_FILE):
        return _bug(path)
    try:
        with read_pool(path) as pool:
            return SeenRun({**read_summary(path), **summarise(pool)}, read_history(path))
    except CurriculumError as error:
        if (path / "curriculum.sqlite").exists():
            raise
        raise ArtifactError(
            f"{path} is neither a run, nor a bug, nor a trajectory",
            "Name a run's folder, a bug's in its bugs/, or a file of its trajectories/.",
        ) from error


def _bug(folder: Path) -> SeenBug:
    bug = load_own(folder)
    artifact = load(folder, weakened=is_weakened(bug))
    return SeenBug(bug, artifact, read_attempt(folder, bug) if bug.attempt else "", _solved(folder, bug.id))


def _solved(folder: Path, bug: str) -> Mapping[str, Mapping[str, int]] | None:
    run = folder.resolve().parent.parent
    if not (run / "curriculum.sqlite").is_file():
        return None
    with contextlib.suppress(CurriculumError), read_pool(run) as pool:  # the bug shows even if its pool is damaged
        return solves(attempt for attempt in pool.attempts.all(diffs=False) if attempt.bug == bug).get(bug, {})
    return None


def _plain(value: Any) -> Any:
    """Arrays as lists, at any depth."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, str | int | float | bool | None):
        return value
    return [_plain(item) for item in value]
