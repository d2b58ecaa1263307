"""What is taken out of the solver's sandbox when its episode is over: the prediction.

Deviation from the paper: a solver commonly applies its specification to see the tests fail. Those test files are
restored before grading in any case. So its changes to them are left out, instead of having the oracle refuse the
prediction for touching tests. Everything else it changed is submitted, and the oracle judges it.
"""

from collections.abc import Collection
from dataclasses import dataclass

from selfplay import patches
from selfplay.agent import Trajectory
from selfplay.oracle.errors import PredictionError
from selfplay.oracle.world import Changes, SolverWorld, Task, prediction_of
from selfplay.plain import shown
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


def hand_in(backend: Backend, task: Task, changes: Changes, restored: Collection[str], limits: Limits) -> HandIn:
    """The changes as a diff, without changes to the `restored` test files. Raises `SandboxError` when no sandbox is
    available."""
    try:
        prediction = prediction_of(backend, task, changes, limits)
        sections = patches.parse(prediction.diff) if prediction.diff else ()
    except PredictionError as error:
        return HandIn(reason=error.message)
    tests = set(restored)
    kept = [section for section in sections if not set(section.paths) <= tests]
    dropped = [shown(section.path) for section in sections if set(section.paths) <= tests]
    return HandIn(patches.join(kept) if kept else "", "", (*prediction.left_out, *dropped))
