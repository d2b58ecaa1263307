"""What is taken out of the solver's sandbox when its episode is over: the prediction.

Deviation from the paper: a solver commonly applies its specification to see the tests fail, and writes tests of its
own. What belongs to the tests is left out, as in every prediction (`oracle/screening/path_filter.py`). Everything else
it changed is submitted, and the oracle judges it.
"""

from dataclasses import dataclass

from selfplay import patches
from selfplay.agent import Trajectory
from selfplay.oracle.errors import PredictionError
from selfplay.oracle.screening.prediction import ReadPrediction
from selfplay.oracle.screening.screen import screened
from selfplay.oracle.world import Changes, SolverWorld, Task, prediction_of
from selfplay.sandbox import Backend, Limits


@dataclass(frozen=True)
class HandIn:
    """`diff` is what will be graded; `reason`: why there is none. `left_out`: changed paths that are not in it."""

    diff: str = ""
    reason: str = ""
    left_out: tuple[str, ...] = ()


def collect(trajectory: Trajectory, world: SolverWorld) -> Changes | HandIn:
    """What the solver changed, or why it submits nothing. `hand_in` makes a patch of it once the world is closed."""
    if trajectory.submission is None:
        error = f": {trajectory.error}" if trajectory.error else ""
        return HandIn(reason=f"nothing was submitted ({trajectory.finish}{error})")
    try:
        return world.changes()
    except PredictionError as error:
        return HandIn(reason=error.message)


def hand_in(backend: Backend, task: Task, changes: Changes, limits: Limits) -> HandIn:
    """The changes as a diff, without those that no prediction may hold. Raises `SandboxError` when no sandbox is
    available."""
    try:
        prediction = prediction_of(backend, task, changes, limits)
        sections = patches.parse(prediction.diff) if prediction.diff else ()
    except PredictionError as error:
        return HandIn(reason=error.message)
    found = screened(task, ReadPrediction(prediction.diff, sections))
    return HandIn(found.diff, "", (*prediction.left_out, *(path for path, _ in found.left_out)))
