"""One update: credited episodes of both roles -> one step of a trainer, and its figures.

This is what a training loop calls with each batch, and `selfplay learn` with a finished run.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from selfplay.learning.crediting import Credited
from selfplay.learning.errors import NothingToLearn
from selfplay.learning.examples import examples
from selfplay.learning.objective import Objective, normaliser
from selfplay.learning.recipe import Recipe
from selfplay.learning.summary import refuse_nothing, rollout_figures
from selfplay.train.lora import LoraOptions
from selfplay.train.model import ModelOptions
from selfplay.train.step import StepFigures, StepOptions, Trainer


@dataclass(frozen=True)
class Updated:
    """What an update did. `step`: the trainer's; `tokens`: of `Objective.figures`, by role; `rollouts`: of
    `rollout_figures`."""

    step: StepFigures
    tokens: dict[str, dict[str, float]]
    rollouts: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"step": asdict(self.step), "tokens": self.tokens, "rollouts": self.rollouts}


def update(trainer: Trainer, rollouts: Sequence[Credited], recipe: Recipe) -> Updated:
    """Take one step on the episodes that give a gradient.

    Raises `NothingToLearn` where none does, `StepRefused` for a loss or gradient that is not finite, `TrainError` for
    sequences that this model or budget cannot take; the weights are then as before."""
    refuse_nothing(rollouts)
    batch = examples(rollouts, recipe)
    if not batch:
        raise NothingToLearn(
            "no token of any episode is trained on: what is left is longer than the budget, or malformed",
            "Raise the budget, or train on malformed answers, too.",
        )
    objective = Objective(recipe)
    step = trainer.step(batch, objective, normaliser(recipe, {one.name: one.trained for one in batch}))
    return Updated(step, objective.figures(), rollout_figures(rollouts))


def step_options(recipe: Recipe, **more: Any) -> StepOptions:
    """The recipe's part of a trainer's options; `more`: the others."""
    return StepOptions(
        lr=recipe.lr, warmup=recipe.warmup, clip=recipe.clip, weight_decay=recipe.weight_decay, budget=recipe.budget,
        **more,
    )  # fmt: skip


def model_options(recipe: Recipe, **more: Any) -> ModelOptions:
    """The recipe's part of a model's options; `more`: the others."""
    adapters = LoraOptions(recipe.lora_rank, recipe.lora_alpha) if recipe.lora_rank else None
    return ModelOptions(
        precision=recipe.precision, checkpointing=not recipe.keep_activations, keep_attention=recipe.keep_attention,
        offload=recipe.offload, lora=adapters, **more,
    )  # fmt: skip
