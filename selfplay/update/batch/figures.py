"""What an update reports: plain numbers, which are stored with the step."""

from typing import NotRequired, TypedDict


class TokenMeans(TypedDict):
    """A role's trained tokens: how many, the means over them, and the ends. `difference` is log r, `weight` the
    correction's; `effective_sample_size`: as a share; `loss_sum`: the sum of their losses."""

    tokens: float
    ratio: float
    difference: float
    absolute_difference: float
    k1: float
    k3: float
    clipped: float
    entropy: float
    weight: float
    ratio_max: float
    ratio_min: float
    difference_max: float
    difference_min: float
    effective_sample_size: float
    loss_sum: float


TokenFigures = dict[str, TokenMeans]
"""Role, or "both" -> its tokens."""


class TrainerFigures(TypedDict):
    """What a trainer says of its step (`train.step.StepFigures`)."""

    step: int
    loss: float
    gradient: float
    entropy: float
    lr: float
    tokens: int
    trained: int
    rows: int
    row_tokens: int
    seconds: float


class SecondsSpent(TypedDict):
    """Seconds of a role's episodes, added up, though many play at once. `generation`: the model's answers, with the
    wait for the engine; `tools`: what ran in the sandbox; `judging`: checks or grading; `rest`: waiting for a seat,
    and starting the sandbox."""

    generation: float
    tools: float
    judging: float
    rest: float


class RewardFigures(TypedDict):
    """The rewards of a role's episodes."""

    mean: float
    min: float
    max: float


class RoleFigures(TypedDict):
    """A role's episodes in one step. `without_a_gradient`: reason -> episodes; `versions_behind`: how many versions of
    the policy the oldest token lacks -> episodes trained on; `checks`: failed check -> injections; `diversity`: the
    share of bugs unlike earlier ones; `groups`: solve rate as `3/8` -> groups."""

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
    """`step`: the trainer's own figures, None if nothing was learned; `nothing`: why not. `steps`: each role's own, if
    it has its own trainer."""

    step: TrainerFigures | None
    rollouts: dict[str, RoleFigures]
    tokens: NotRequired[TokenFigures]
    steps: NotRequired[dict[str, TrainerFigures]]
    nothing: NotRequired[str]
