"""From a bug's folder to what grades it: what `selfplay grade` and every later room does with a stored bug."""

from pathlib import Path

from selfplay.curriculum.stored import oracle_of, prepared_for, read_bug, task_of
from selfplay.oracle.audit import Audit, audit_task
from selfplay.oracle.errors import PredictionError
from selfplay.oracle.grade import Grade
from selfplay.oracle.prediction import MAX_BYTES
from selfplay.oracle.world import solver_world
from selfplay.repository import Prepared
from selfplay.rollout.grading import SharedGrader
from selfplay.sandbox import Backend


def grader_for(
    folder: Path, backend: Backend, *, prepared: Prepared | None = None, counterfactual: bool = True
) -> SharedGrader:
    """A grader for the bug in `folder`; `prepared` saves finding its environment again.

    Raises `SelfplayError` for a damaged bug, or one whose environment is gone and cannot be built again."""
    bug, artifact, thresholds = read_bug(folder)
    world = (prepared or prepared_for(folder, bug, backend)).world()
    return SharedGrader(
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
