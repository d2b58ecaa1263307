"""Collects the prediction from the solver's sandbox after its episode.

Deviation from the paper: changes of test files are left out, as in every prediction
(`oracle/screening/path_filter.py`), since solvers often apply their specification or write tests. All other changes are
graded.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from selfplay import patches
from selfplay.agent import Trajectory
from selfplay.formatting import shortened
from selfplay.oracle.errors import PredictionError
from selfplay.oracle.grades import Grade
from selfplay.oracle.safely import safely
from selfplay.oracle.screening.prediction import ReadPrediction
from selfplay.oracle.screening.screen import screened
from selfplay.oracle.task import Task
from selfplay.oracle.world import Changes, SolverWorld, prediction_of
from selfplay.patches import PatchError
from selfplay.sandbox import Backend, Limits

MOST_PATHS = 200
"""Left-out paths that are named."""


@dataclass(frozen=True)
class HandIn:
    """`diff` will be graded; `reason`: why there is none. `left_out`: changed paths that it leaves out."""

    diff: str = ""
    reason: str = ""
    left_out: tuple[str, ...] = ()


def collect(trajectory: Trajectory, world: SolverWorld) -> Changes | HandIn:
    """The solver's changes, or why nothing was submitted. `hand_in` turns them into a patch once the world is
    closed."""
    if trajectory.submission is None:
        return HandIn(reason=f"nothing was submitted ({trajectory.ending})")
    try:
        return world.changes()
    except PredictionError as error:
        return HandIn(reason=error.message)


def hand_in(backend: Backend, task: Task, changes: Changes, limits: Limits) -> HandIn:
    """The changes as a diff, without those that a prediction must not contain. Raises `SandboxError` if no sandbox is
    available."""
    try:
        prediction = prediction_of(backend, task, changes, limits)
        sections = patches.parse(prediction.diff) if prediction.diff else ()
    except (PredictionError, PatchError) as error:
        return HandIn(reason=error.message)
    found = safely(lambda: screened(task, ReadPrediction(prediction.diff, sections)), calibrated=True)
    if isinstance(found, Grade):  # the grader meets the same error, and says so
        return HandIn(prediction.diff, "", first_paths(prediction.left_out))
    return HandIn(found.diff, "", first_paths((*prediction.left_out, *(path for path, _ in found.left_out))))


def first_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """The first of these paths, shortened, and how many more there are: a solver may leave any number of files, and
    what is stored of its attempt must not be more than is read again."""
    more = (f"and {len(paths) - MOST_PATHS} more",) if len(paths) > MOST_PATHS else ()
    return (*map(shortened, paths[:MOST_PATHS]), *more)
