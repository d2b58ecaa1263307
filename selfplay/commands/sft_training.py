"""The part of `selfplay sft` that needs torch: load the model, tune it, write the folder."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from selfplay.commands.result_folder import written
from selfplay.commands.sft import CHECKPOINTS, SftOrder, SftWatcher
from selfplay.train.errors import TrainError
from selfplay.train.lora import LoraOptions
from selfplay.train.model import ModelOptions, load_scorer
from selfplay.train.packing import Example
from selfplay.train.precision import slow_precision
from selfplay.train.sft_loop import Tuned, TuneOptions, batches, forget, tune
from selfplay.train.step import StepFigures, StepOptions, Trainer
from selfplay.train.weights import write_model, written_dtype


def train(
    order: SftOrder,
    training: Sequence[Example],
    held_out: Sequence[Example],
    kind: Mapping[str, Any],
    watcher: SftWatcher,
) -> dict[str, Any]:
    """Tune the model, write it to the order's folder, and return the figures."""
    watcher.say(f"loading {order.model}")
    if slow := slow_precision(order.precision):
        watcher.say(slow)
    options = TuneOptions(order.epochs, order.batch, order.patience, order.save_every, order.seed)
    lora = LoraOptions(order.lora) if order.lora else None
    how = ModelOptions(order.precision, checkpointing=not order.keep_activations, lora=lora)
    scorer = load_scorer(order.model, how)
    refused = order.out / "refused"
    folder, steps, started = order.out / CHECKPOINTS, batches(len(training), options), time.monotonic()
    decay = steps * order.epochs if order.schedule == "cosine" else None
    trainer = Trainer(scorer, StepOptions(order.lr, order.warmup, budget=order.budget, refused=refused, decay=decay))
    watcher.expect(steps * order.epochs, "training")

    def report(tuned: Tuned, figures: StepFigures) -> None:
        last = tuned.epochs[-1].held_out if tuned.epochs else tuned.before
        told = "" if last is None else f", held-out loss {last:.3f}"
        rate = figures.tokens / figures.seconds
        epoch = f"epoch {len(tuned.epochs) + 1}, step {tuned.batch} of {steps}"
        watcher.done(f"{epoch}: loss {figures.loss:.3f}{told}, {rate:.0f} tokens/s")

    tuned = tune(trainer, training, held_out, options, folder, kind, report)
    if tuned.worse:
        watcher.say(
            "every epoch made the held-out loss HIGHER than that of the initial model; lower --lr, or give more"
        )
    watcher.say(f"writing {order.out}")
    with written(order.out, TrainError, "The same command resumes from its last checkpoint."):
        write_model(scorer, order.out, Path(order.model), written_dtype(order.model, order.precision))
    forget(folder)
    stopped = "early" if len(tuned.epochs) < order.epochs else "after all epochs"
    return {
        "held_out_loss": {"before": tuned.before, "after": tuned.best.held_out},
        "epochs": [asdict(epoch) for epoch in tuned.epochs],
        "worse_than_before": tuned.worse,
        "best_epoch": tuned.best.number,
        "stopped": stopped,
        "seconds": round(time.monotonic() - started, 1),
    }
