"""The part of `selfplay learn` that needs torch: load the model, take the step, write the folder."""

import time
from collections.abc import Sequence
from pathlib import Path

from selfplay.commands.learn import LearnFigures, LearnOrder, LearnWatcher
from selfplay.train.model import load_scorer
from selfplay.train.precision import slow_precision
from selfplay.train.step import Trainer
from selfplay.train.weights import write_model, written_dtype
from selfplay.update.batch.crediting import Credited
from selfplay.update.step.one_update import model_options, step_options, update


def updated(order: LearnOrder, rollouts: Sequence[Credited], folder: Path, watcher: LearnWatcher) -> LearnFigures:
    """Take the step and write the new model to `folder`; returns its figures. Weights are written in float32, since
    bf16 would lose an update with a small learning rate.

    Raises `SelfplayError`, and `OSError` if the folder cannot be written."""
    recipe, started = order.credit.recipe, time.monotonic()
    watcher.say(f"loading {order.model}")
    if slow := slow_precision(recipe.precision):
        watcher.say(slow)
    refused = order.out.with_name(f"{order.out.name}-refused")
    trainer = Trainer(load_scorer(order.model, model_options(recipe)), step_options(recipe, refused=refused))
    watcher.expect(None, "updating")
    done = update(trainer, rollouts, recipe)
    watcher.say(f"writing {order.out}")
    write_model(trainer.scorer, folder, Path(order.model), written_dtype(order.model, "fp32"))
    return {**done.figures(), "seconds": round(time.monotonic() - started, 1)}
