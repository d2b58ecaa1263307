"""From a bug's folder to what grades it: what `selfplay grade` and every later room does with a stored bug."""

from pathlib import Path

from selfplay.artifact import Artifact, ArtifactError, Bug
from selfplay.oracle.audit import Audit, audit_task
from selfplay.oracle.calibrate import Oracle
from selfplay.oracle.errors import PredictionError
from selfplay.oracle.grade import Grade, Grader
from selfplay.oracle.prediction import MAX_BYTES
from selfplay.oracle.world import Task, solver_world
from selfplay.plain import decode
from selfplay.repository import Prepared
from selfplay.rollout.revalidation import prepared_for, read_bug
from selfplay.sandbox import Backend, World
from selfplay.validators import Thresholds

ATTEMPT_FILE = "attempt.diff"
"""Beside the five files of a second-order bug: the failed attempt that is part of it."""


def task_of(folder: Path, bug: Bug, artifact: Artifact, world: World) -> Task:
    """The task of a stored bug. Raises `ArtifactError` for one of order 2 whose failed attempt is not there."""
    if bug.order == 1:
        return Task(world, artifact)
    path = folder / ATTEMPT_FILE
    if not path.is_file():
        raise ArtifactError(f"{path} is missing", "A bug of order 2 holds the failed attempt it was made from.")
    return Task(world, artifact, (decode(path.read_bytes()),))


def oracle_of(bug: Bug, thresholds: Thresholds) -> Oracle:
    """What decides about a stored bug; ids found flaky are in neither set."""
    return Oracle(frozenset(bug.fail_to_pass), frozenset(bug.pass_to_pass), thresholds.seconds)


def grader_for(
    folder: Path, backend: Backend, *, prepared: Prepared | None = None, counterfactual: bool = True
) -> Grader:
    """A grader for the bug in `folder`; `prepared` saves finding its environment again.

    Raises `SelfplayError` for a damaged bug, or one whose environment is gone and cannot be built again."""
    bug, artifact, thresholds = read_bug(folder)
    world = (prepared or prepared_for(folder, bug, backend)).world()
    return Grader(
        backend, task_of(folder, bug, artifact, world), oracle_of(bug, thresholds), counterfactual=counterfactual
    )


def grade_file(folder: Path, patch: Path, backend: Backend, *, counterfactual: bool = True) -> Grade:
    """Grade the prediction in a file. Raises `PredictionError` when the file cannot be read at all."""
    try:
        with patch.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise PredictionError(
            "unreadable", f"{patch} cannot be read: {error.strerror}", "Name a file with a diff."
        ) from error
    return grader_for(folder, backend, counterfactual=counterfactual).grade(data)


def audit_bug(folder: Path, backend: Backend, *, prepared: Prepared | None = None) -> Audit:
    """Search the solver's world of the bug in `folder`. Raises `SelfplayError` as `grader_for` does."""
    bug, artifact, _ = read_bug(folder)
    world = solver_world(prepared or prepared_for(folder, bug, backend))
    return audit_task(backend, task_of(folder, bug, artifact, world))
