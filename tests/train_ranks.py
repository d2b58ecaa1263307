"""One rank of a training run on the tiny model: `RANK WORLD FOLDER KIND [CHECKPOINTS]`; KIND: `full`, or `lora`.

Three steps; after the second a checkpoint goes to FOLDER/checkpoints, after the third the weights to FOLDER/model.
"""

import os
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from tiny_models import tiny_llama, uneven

from selfplay.train import checkpoint
from selfplay.train.lora import LoraOptions
from selfplay.train.model import ModelOptions, scorer_of
from selfplay.train.step import StepOptions, Tokens, Trainer
from selfplay.train.weights import save_model

STEPS = 3
FULL = ModelOptions(precision="fp32", checkpointing=True, chunk=4)
MODELS = {"full": FULL, "lora": replace(FULL, lora=LoraOptions(4))}


def policy_gradient(tokens: Tokens) -> torch.Tensor:
    """-A log p, summed."""
    return -torch.where(tokens.mask, tokens.numbers["advantages"] * tokens.logprobs, 0.0).sum()


def trainer(folder: Path, kind: str = "full", model: torch.nn.Module | None = None) -> Trainer:
    """Rows of 30 tokens: the examples of a step take three, which two ranks share unevenly."""
    options = StepOptions(lr=1e-2, warmup=2, clip=1.0, weight_decay=0.1, budget=30, refused=folder / "refused")
    return Trainer(scorer_of(model or tiny_llama(layers=3), MODELS[kind]), options)


def run(learner: Trainer, folder: Path) -> None:
    """The steps that are left."""
    while learner.steps < STEPS:
        learner.step(uneven(seed=learner.steps), policy_gradient, normaliser=25)
        if learner.steps == 2:
            checkpoint.save(learner, folder / "checkpoints", {"batch": learner.steps})


def main(rank: int, world: int, folder: Path, kind: str, begun: Path | None) -> None:
    torch.set_num_threads(1)
    meeting = f"file://{folder}/meeting"
    dist.init_process_group("gloo", meeting, timedelta(seconds=120), world, rank)
    learner = trainer(folder, kind)
    if begun is not None:
        assert checkpoint.resume(learner, begun) == {"batch": 2}
    run(learner, folder)
    save_model(learner.scorer, folder / "model", torch.float32)
    dist.destroy_process_group()


if __name__ == "__main__":
    rank, world, folder, kind, *begun = sys.argv[1:]
    main(int(rank), int(world), Path(folder), kind, Path(begun[0]) if begun else None)
    os._exit(0)
