"""Two controls that every curriculum must pass: the gold patch is resolved, and the unchanged solver world is not.

`selfplay solve --policy gold` and `--policy empty` play them; they are stored as attempts under these names.
"""

from typing import Literal, cast

from selfplay import patches
from selfplay.oracle.grade import Grader
from selfplay.oracle.grades import Grade
from selfplay.oracle.task import Task
from selfplay.oracle.world import open_world, prediction_of
from selfplay.rl.credit.rewards import CONTROLS as CONTROLS
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.applying import apply_diffs

Control = Literal["gold", "empty"]
GOLD, EMPTY = CONTROLS


def control_named(name: str) -> Control | None:
    """The control of this name; None when the name is not a control's."""
    return cast(Control, name) if name in CONTROLS else None


def gold_patch(backend: Backend, task: Task, limits: Limits = Limits()) -> str:
    """The patch that undoes the failed attempt and the bug, taken from the tree as a solver's submission would be.

    Raises `WorldError`, `DoesNotApply`, `PredictionError`, `SandboxError`."""
    with open_world(backend, task, limits) as world:
        undo = [*reversed(task.extra), task.artifact.bug_inject]
        apply_diffs(world.sandbox, [patches.reverse(diff) for diff in undo])
        changes = world.changes()
    return prediction_of(backend, task, changes, limits).diff


def play_control(name: Control, backend: Backend, task: Task, grader: Grader, limits: Limits) -> tuple[str, Grade]:
    """(the graded diff, its grade) of the control `name`. Raises what `gold_patch` and `Grader.grade` raise."""
    if name == EMPTY:
        return "", grader.grade_untouched(backend)
    diff = gold_patch(backend, task, limits)
    return diff, grader.grade(backend, diff)
