"""Trainers of a tiny model."""

from tiny_models import tiny_llama, uneven
from train_ranks import policy_gradient

from selfplay.train.model import ModelOptions, scorer_of
from selfplay.train.step import StepOptions, Trainer


def learner(seed: int = 0, layers: int = 2) -> Trainer:
    model = scorer_of(tiny_llama(seed, layers=layers), ModelOptions(precision="fp32"))
    return Trainer(model, StepOptions(lr=1e-2, warmup=5))


def train(trainer: Trainer, steps: int) -> Trainer:
    for _ in range(steps):
        trainer.step(uneven(seed=trainer.steps), policy_gradient, 25)
    return trainer
