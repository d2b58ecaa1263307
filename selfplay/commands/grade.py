"""What `selfplay grade` does: make the grader of a stored bug and grade a prediction."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from selfplay.artifact.reading import UntrustedDataError, opened_named
from selfplay.commands.handed_in import handed_in, tree_in
from selfplay.curriculum.calibrations import calibration_of
from selfplay.curriculum.stored_bugs import oracle_of, prepared_for, read_bug, task_of
from selfplay.oracle.assurance import Weak
from selfplay.oracle.errors import GradingLost, PredictionError
from selfplay.oracle.grade import Grader, grade_without_running, unread
from selfplay.oracle.grades import Grade
from selfplay.oracle.reasons import OVER_LIMITS
from selfplay.oracle.screening.prediction import MAX_BYTES
from selfplay.oracle.task import Oracle, Task
from selfplay.plain_text import encode
from selfplay.repository import Prepared
from selfplay.roles.solver.collect import first_paths
from selfplay.sandbox import Backend, Limits
from selfplay.sandbox.retry import LimitMet, again

NO_DIFF = "no diff can hold it, or the repository ignores it"


@dataclass(frozen=True)
class Gradable:
    """A stored bug with everything needed to grade predictions for it."""

    folder: Path
    task: Task
    oracle: Oracle


def gradable(folder: Path, prepared: Prepared) -> Gradable:
    """The bug in `folder`, planted in `prepared`. Raises `ArtifactError` for a damaged bug."""
    bug, artifact, thresholds = read_bug(folder)
    return Gradable(folder, task_of(folder, bug, artifact, prepared.world()), oracle_of(bug, thresholds))


def grader_of(bug: Gradable, backend: Backend, counterfactual: bool = True, weak: Weak = "count") -> Grader:
    """A calibrated grader for the bug. Raises `OracleError` for a bug that cannot be graded, and `SandboxError`."""
    known = calibration_of(bug.folder, backend, bug.task, bug.oracle, counterfactual=counterfactual)
    return Grader(bug.task, bug.oracle, Limits(), known, counterfactual, weak)


def graded(
    found: Gradable, prediction: bytes | str, backend: Backend, counterfactual: bool = True, weak: Weak = "count"
) -> Grade:
    """Grade a prediction. One that is refused by its text needs no calibration."""
    refused = grade_without_running(found.task, prediction)
    return refused or grader_of(found, backend, counterfactual, weak).grade(backend, prediction)


def grade_file(
    folder: Path,
    patch: Path,
    backend: Backend,
    *,
    counterfactual: bool = True,
    weak: Weak = "count",
    trust: bool = False,
) -> Grade:
    """Grade the prediction in a file. Raises `PredictionError` if the file cannot be read at all."""
    try:
        with opened_named(patch, sys.maxsize) as stream:  # one that is too long gets a grade that says so
            data = stream.read(MAX_BYTES + 1)
    except (OSError, UntrustedDataError) as error:
        said = error.message if isinstance(error, UntrustedDataError) else f"{patch} cannot be read: {error.strerror}"
        raise PredictionError("unreadable", said, "Name a file with a diff.") from error
    return grade_patch(folder, data, backend, counterfactual=counterfactual, weak=weak, trust=trust)


def grade_world(
    folder: Path,
    out: Path,
    backend: Backend,
    *,
    counterfactual: bool = True,
    weak: Weak = "count",
    trust: bool = False,
) -> Grade:
    """Grade what an agent changed in `out`, the world that `selfplay world` wrote of the bug. Raises `PredictionError`
    if that is none. Work that cannot be read is graded as not resolved."""
    tree = tree_in(out)
    try:
        made = handed_in(folder, tree, backend, trust=trust)
    except PredictionError as error:
        return unread(error)
    grade = grade_patch(folder, encode(made.diff), backend, counterfactual=counterfactual, weak=weak, trust=trust)
    return replace(grade, left_out=(*((path, NO_DIFF) for path in first_paths(made.left_out)), *grade.left_out))


def grade_patch(
    folder: Path,
    patch: bytes,
    backend: Backend,
    *,
    counterfactual: bool = True,
    weak: Weak = "count",
    trust: bool = False,
) -> Grade:
    """Grade a prediction for the bug in `folder`. `weak`: how a weakly assured grade is treated; `trust`: allow
    what its run wants to run or fetch.

    Raises `SelfplayError` for a damaged bug, one that cannot be graded, or one whose environment is gone."""
    bug, _, _ = read_bug(folder)

    def work() -> Grade:
        found = gradable(folder, prepared_for(folder, bug, backend, trust=trust))
        return graded(found, patch, backend, counterfactual, weak)

    try:
        return again(work)
    except LimitMet as met:
        if isinstance(met.__cause__, GradingLost):
            return Grade(False, OVER_LIMITS, met.message)
        raise
