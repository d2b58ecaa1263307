"""What an update reports: plain numbers, which are stored with the step."""

from typing import NotRequired, TypedDict

TokenFigures = dict[str, dict[str, float]]
"""Role, or "both" -> the means over its trained tokens (`update.step.objective.Objective.figures`)."""


class RewardFigures(TypedDict):
    """The rewards of a role's episodes."""

    mean: float
    min: float
    max: float


class RoleFigures(TypedDict):
    """A role's episodes in one step. `without_a_gradient`: reason -> episodes; `versions_behind`: policy versions older
    than the newest -> episodes trained on; `checks`: failed check -> injections; `diversity`: the share of bugs unlike
    earlier ones; `groups`: solve rate as `3/8` -> groups."""

    episodes: int
    trained_on: int
    without_a_gradient: dict[str, int]
    outcomes: dict[str, int]
    reward: RewardFigures | None
    tokens: int
    tokens_trained_on: int
    versions_behind: dict[str, int]
    checks: NotRequired[dict[str, int]]
    diversity: NotRequired[float | None]
    groups: NotRequired[dict[str, int]]


class UpdateFigures(TypedDict):
    """`step`: the trainer's own figures (`train.step.StepFigures`), None if nothing was learned; `nothing`: why not.
    `steps`: each role's own, if it has its own trainer."""

    step: dict[str, float] | None
    rollouts: dict[str, RoleFigures]
    tokens: NotRequired[TokenFigures]
    steps: NotRequired[dict[str, dict[str, float]]]
    nothing: NotRequired[str]
