"""One update: credited episodes of both roles -> one step of a trainer, or of one for each role, and its figures.

A training loop calls this with each batch, and `selfplay learn` with a finished run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from selfplay.train.lora import LoraOptions
from selfplay.train.model import ModelOptions
from selfplay.train.step import StepFigures, StepOptions, Trainer
from selfplay.update.batch.crediting import Credited
from selfplay.update.batch.examples import examples
from selfplay.update.batch.figures import RoleFigures, TokenFigures, TrainerFigures, UpdateFigures
from selfplay.update.batch.summary import require_gradient, rollout_figures
from selfplay.update.errors import NothingToLearn
from selfplay.update.recipe import Recipe
from selfplay.update.step.objective import Objective, divisor


@dataclass(frozen=True)
class Updated:
    """What an update did. `step`: the trainer's, or those of all trainers together; `tokens`: of `Objective.figures`,
    by role; `rollouts`: of `rollout_figures`; `steps`: each role's own step, if it has its own trainer and was
    trained."""

    step: StepFigures
    tokens: TokenFigures
    rollouts: dict[str, RoleFigures]
    steps: dict[str, StepFigures] = field(default_factory=dict)

    def figures(self) -> UpdateFigures:
        """Plain numbers, to be stored."""
        found = UpdateFigures(step=_plain(self.step), tokens=self.tokens, rollouts=self.rollouts)
        if self.steps:
            found["steps"] = {role: _plain(step) for role, step in self.steps.items()}
        return found


def _plain(step: StepFigures) -> TrainerFigures:
    return {
        "step": step.step,
        "loss": step.loss,
        "gradient": step.gradient,
        "entropy": step.entropy,
        "lr": step.lr,
        "tokens": step.tokens,
        "trained": step.trained,
        "rows": step.rows,
        "row_tokens": step.row_tokens,
        "seconds": step.seconds,
    }


def update(trainer: Trainer, rollouts: Sequence[Credited], recipe: Recipe) -> Updated:
    """Take one step on the episodes that give a gradient.

    Raises `NothingToLearn` if none does, `StepRefused` for a loss or gradient that is not finite, `TrainError` for
    sequences that do not fit the model or budget. The weights are then unchanged."""
    objective = Objective(recipe)
    (step,) = _stepped({"": trainer}, rollouts, recipe, objective).values()
    return Updated(step, objective.figures(), rollout_figures(rollouts))


def update_apart(trainers: Mapping[str, Trainer], rollouts: Sequence[Credited], recipe: Recipe) -> Updated:
    """Take a step of each role's trainer on the role's own episodes; a role without gradient is skipped. Raises as
    `update` does, but an earlier role may already have stepped."""
    objective = Objective(recipe)
    steps = _stepped(trainers, rollouts, recipe, objective)
    return Updated(_together([*steps.values()]), objective.figures(), rollout_figures(rollouts), steps)


def _stepped(
    trainers: Mapping[str, Trainer], rollouts: Sequence[Credited], recipe: Recipe, objective: Objective
) -> dict[str, StepFigures]:
    """The trainer's role ("" for both) -> what its step did."""
    require_gradient(rollouts)
    batches = {
        role: examples([one for one in rollouts if one.played.episode.role == role or not role], recipe)
        for role in trainers
    }
    if not any(batches.values()):
        raise NothingToLearn(
            "no token of any episode is trained on: what is left is longer than the budget, or malformed",
            "Raise the budget, or train on malformed answers, too.",
        )
    return {
        role: trainers[role].step(batch, objective, divisor(recipe, [one.trained for one in batch]))
        for role, batch in batches.items()
        if batch
    }


def _together(steps: Sequence[StepFigures]) -> StepFigures:
    """The steps of models without shared trained weights, as one; the gradient's norm is over all their weights."""
    trained = sum(one.trained for one in steps)
    return StepFigures(
        step=max(one.step for one in steps),
        loss=sum(one.loss for one in steps),
        gradient=math.hypot(*(one.gradient for one in steps)),
        entropy=sum(one.entropy * one.trained for one in steps) / trained,
        lr=max(one.lr for one in steps),
        tokens=sum(one.tokens for one in steps),
        trained=trained,
        rows=sum(one.rows for one in steps),
        row_tokens=sum(one.row_tokens for one in steps),
        seconds=sum(one.seconds for one in steps),
    )


def step_options(recipe: Recipe, **more: Any) -> StepOptions:
    """A trainer's options from the recipe; `more`: the other options."""
    return StepOptions(
        lr=recipe.lr, warmup=recipe.warmup, clip=recipe.clip, weight_decay=recipe.weight_decay, budget=recipe.budget,
        **more,
    )  # fmt: skip


def model_options(recipe: Recipe, **more: Any) -> ModelOptions:
    """A model's options from the recipe; `more`: the other options."""
    adapters = LoraOptions(recipe.lora_rank, recipe.lora_alpha) if recipe.lora_rank else None
    return ModelOptions(
        precision=recipe.precision, checkpointing=not recipe.keep_activations, keep_attention=recipe.keep_attention,
        offload=recipe.offload, lora=adapters, **more,
    )  # fmt: skip
