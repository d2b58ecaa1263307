"""Supervised tuning: it learns, stops when the held-out loss rises, keeps the best, and resumes as if never stopped."""

import math
from pathlib import Path

import pytest
import torch
from tiny_models import VOCABULARY, tiny_llama, uneven

from selfplay.train import checkpoint
from selfplay.train.errors import TrainError
from selfplay.train.model import ModelOptions, scorer_of
from selfplay.train.packing import Example
from selfplay.train.sft_loop import Tuned, TuneOptions, mean_loss, tune
from selfplay.train.step import StepFigures, StepOptions, Trainer


def learner(lr: float = 1e-2) -> Trainer:
    return Trainer(scorer_of(tiny_llama(), ModelOptions(precision="fp32", checkpointing=False)), StepOptions(lr=lr))


def counting(first: int, name: str) -> Example:
    """Each id is the one before and one more: a rule that examples share."""
    ids = [(first + at) % VOCABULARY for at in range(16)]
    return Example(name, ids, [0] + [1] * 15)


TRAINING = [counting(first, f"from {first}") for first in range(0, 96, 4)]
HELD_OUT = [counting(first, f"held {first}") for first in (2, 50)]


def weights(trainer: Trainer) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in trainer.scorer.parameters()])


def test_what_examples_share_lowers_the_held_out_loss(tmp_path: Path) -> None:
    """A random model has a loss near ln 97 = 4.57. 24 examples in batches of 8 are three steps an epoch."""
    trainer = learner()
    tuned = tune(trainer, TRAINING, HELD_OUT, TuneOptions(epochs=8), tmp_path, {})
    assert tuned.before == pytest.approx(math.log(VOCABULARY), abs=0.2)
    assert [epoch.step for epoch in tuned.epochs] == [3, 6, 9, 12, 15, 18, 21, 24]
    assert tuned.best.held_out is not None and tuned.best.held_out < 1.0
    assert mean_loss(trainer, HELD_OUT) == pytest.approx(tuned.best.held_out)


def test_it_stops_when_the_held_out_loss_rises_and_keeps_the_best(tmp_path: Path) -> None:
    """Random sequences share nothing: learning them by heart makes other random ones less likely from some epoch on."""
    trainer = learner(lr=3e-3)
    held = uneven((20, 20), seed=7)
    tuned = tune(trainer, uneven((20, 20, 20)), held, TuneOptions(epochs=60, patience=2), tmp_path, {})
    losses = [epoch.held_out for epoch in tuned.epochs]
    assert len(losses) < 60 and tuned.best.number == len(losses) - 2
    assert min(losses) == losses[-3] and losses[-1] > losses[-3] < losses[-2]
    assert trainer.steps == tuned.best.step
    assert mean_loss(trainer, held) == pytest.approx(losses[-3], rel=1e-6)


def test_without_held_out_examples_it_runs_all_epochs(tmp_path: Path) -> None:
    tuned = tune(learner(), TRAINING, [], TuneOptions(epochs=2), tmp_path, {})
    assert tuned.before is None and [epoch.held_out for epoch in tuned.epochs] == [None, None]
    assert tuned.best.number == 2


class Stopped(Exception):
    """Stands for Ctrl-C."""


@pytest.mark.parametrize("stop_at", [2, 4, 6])
def test_a_stopped_run_ends_as_one_that_was_not(stop_at: int, tmp_path: Path) -> None:
    """Stopped inside the first epoch, inside the second, and where an epoch ends; nothing is trained twice."""
    options = TuneOptions(epochs=3, batch=8, save_every=1)
    whole = learner()
    wanted = tune(whole, TRAINING, HELD_OUT, options, tmp_path / "whole", {"lr": 1})

    def stop(tuned: Tuned, figures: StepFigures) -> None:
        if figures.step == stop_at:
            raise Stopped

    with pytest.raises(Stopped):
        tune(learner(), TRAINING, HELD_OUT, options, tmp_path / "cut", {"lr": 1}, stop)
    again = learner()
    assert tune(again, TRAINING, HELD_OUT, options, tmp_path / "cut", {"lr": 1}) == wanted
    assert torch.equal(weights(again), weights(whole))


def test_another_run_in_the_folder_is_not_resumed(tmp_path: Path) -> None:
    tune(learner(), TRAINING, [], TuneOptions(epochs=1), tmp_path, {"lr": 1})
    with pytest.raises(TrainError, match="holds a run with another lr: 1, not 2"):
        tune(learner(), TRAINING, [], TuneOptions(epochs=2), tmp_path, {"lr": 2})


@pytest.mark.parametrize(
    "position",
    [
        {}, {"kind": 3}, {"kind": {}}, {"kind": {}, "tuned": 3}, {"kind": {}, "tuned": {"epochs": [3]}},
        {"kind": {}, "tuned": {"epochs": [], "batch": "x", "loss": 0.0, "tokens": 0, "before": None}},
    ],
    ids=str,
)  # fmt: skip
def test_a_place_to_go_on_from_that_is_none_is_refused(tmp_path: Path, position: dict[str, object]) -> None:
    checkpoint.save(learner(), tmp_path / "epochs", position)
    with pytest.raises(TrainError, match="is not where a run can go on"):
        tune(learner(), [counting(3, "a")], [], TuneOptions(epochs=1), tmp_path, {})


def test_a_best_epoch_that_is_worse_than_the_model_that_was_given_is_known(tmp_path: Path) -> None:
    """At a learning rate of 1 the weights are thrown about; at 1e-2 it learns."""
    wild = tune(learner(lr=1.0), TRAINING, HELD_OUT, TuneOptions(epochs=1), tmp_path / "wild", {})
    assert wild.before is not None and wild.best.held_out is not None
    assert wild.best.held_out > wild.before and wild.worse
    assert not tune(learner(), TRAINING, HELD_OUT, TuneOptions(epochs=1), tmp_path / "mild", {}).worse
    assert not tune(learner(), TRAINING, [], TuneOptions(epochs=1), tmp_path / "unheld", {}).worse
