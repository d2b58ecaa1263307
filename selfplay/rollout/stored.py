"""A rollout as a trajectory's file keeps it: which task it was of and what came of it, beside every step.

`header` is what `commands/storing.py` has the first line record, `load_rollout` reads it back. What lies in the pool's
own folders (the artifact, the bug, the graded diff) is not repeated. Fields of later versions are kept; a later format
is refused, since a field of it means something else.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from selfplay.agent import Trajectory
from selfplay.agent.trajectory_file import HOLDS, TrajectoryError, encoded, load_with_rollout
from selfplay.artifact.decoding import typed
from selfplay.artifact.reading import UntrustedDataError
from selfplay.curriculum.records import Status
from selfplay.formatting import shortened
from selfplay.rollout.rollout import FORMAT, K, Out, Rollout

LEFT_TO_THE_POOL = ("artifact", "bug", "diff")
"""Outcome fields that are in the pool's folders and so are not repeated in the trajectory file."""


class _KeepsUnknown(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class StoredInjectorTask(_KeepsUnknown):
    """An `InjectorKey`."""

    repository: str
    strategy: str
    seed: int
    number: int
    seed_location: str | None = None
    role: Literal["injector"]


class StoredSolverTask(_KeepsUnknown):
    """A `SolverKey`."""

    bug: str
    policy: str
    seed: int
    number: int
    role: Literal["solver"]


class StoredInjectorOutcome(_KeepsUnknown):
    """An `InjectorOutcome` without its artifact and its bug."""

    status: Status
    reason: str
    seconds: float
    failed_check: str | None = None
    tree_key: str | None = None
    suite_runs: int = 0
    validation_seconds: float = 0.0
    files: tuple[str, ...] = ()
    changed_lines: int = 0
    fail_to_pass: int = 0
    task_key: str = ""


class StoredSolverOutcome(_KeepsUnknown):
    """A `SolverOutcome` without its diff."""

    resolved: bool
    reason: str
    detail: str
    seconds: float
    left_out: tuple[str, ...] = ()
    suite_runs: int = 0
    grading_seconds: float = 0.0
    changed_lines: int | None = None
    assurance: Literal["", "full", "weak"] = ""
    weaknesses: tuple[str, ...] = ()


class InjectorHeader(_KeepsUnknown):
    """What is recorded of an injector's rollout."""

    format: int
    task: StoredInjectorTask
    group: str
    outcome: StoredInjectorOutcome


class SolverHeader(_KeepsUnknown):
    """What is recorded of a solver's rollout."""

    format: int
    task: StoredSolverTask
    group: str
    outcome: StoredSolverOutcome


Header = InjectorHeader | SolverHeader


@dataclass(frozen=True)
class StoredRollout:
    """A rollout that was stored."""

    trajectory: Trajectory
    header: Header


def header(rollout: Rollout[K, Out]) -> dict[str, Any]:
    """What the first line of the trajectory's file records of its rollout."""
    outcome = {name: value for name, value in vars(rollout.outcome).items() if name not in LEFT_TO_THE_POOL}
    return {"format": FORMAT, "task": asdict(rollout.task), "group": rollout.group, "outcome": outcome}


def with_file(rollout: Rollout[K, Out]) -> Rollout[K, Out]:
    """The rollout with its trajectory's file encoded: half of what storing costs, so hosts of a cluster do it."""
    return replace(rollout, file=encoded(rollout.trajectory, header(rollout)))


def load_rollout(path: Path) -> StoredRollout:
    """The rollout in a trajectory's file. Raises `TrajectoryError` for a damaged one, for one of a later format, and
    for a trajectory of which no rollout was recorded."""
    trajectory, found = load_with_rollout(path)
    if found is None:
        raise TrajectoryError(f"{shortened(path)} is a trajectory without its rollout", "A run's trajectories have it.")
    return StoredRollout(trajectory, read_header(found, path))


def read_header(found: Mapping[str, Any], path: Path) -> Header:
    """The header behind what a file records. `path` names the file in errors. Raises `TrajectoryError`."""
    written = found.get("format")
    if isinstance(written, int) and written > FORMAT:
        told = f"the rollout in {shortened(path)} was written by a later version (format {written})"
        raise TrajectoryError(told, "Update selfplay.")
    task = found.get("task")
    solves = isinstance(task, Mapping) and task.get("role") == "solver"
    try:
        what = f"the rollout in {shortened(path)}"
        return typed(SolverHeader, found, what) if solves else typed(InjectorHeader, found, what)
    except UntrustedDataError as error:
        raise TrajectoryError(error.message, HOLDS) from error
