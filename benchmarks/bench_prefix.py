"""One update of a group of attempts at one prompt: what it saves that a row holds the prompt once.

`.venv-models/bin/python -m benchmarks.bench_prefix [--json] [--members N] [--prompt N] [--answer N] [--rounds N]`.
Random weights of SmolLM2-135M's shape, fp32, activations recomputed. The other batch is the same, but each of its
sequences begins with a token of its own, so that nothing is shared. The floor is the ratio of their unavoidable
operations: the layers' products for each token, attention for each pair of which one sees the other, the head for
each trained token. Core seconds, best of the rounds, both in one process, in turns.
"""

import argparse
import os
import random
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.figures import Figure, Sheet, at_least, report
from benchmarks.own_update import grpo
from benchmarks.training_load import SHAPE, VOCABULARY, make_model
from selfplay.train.model import ModelOptions, load_scorer
from selfplay.train.packing import Example
from selfplay.train.rows import PackedRow, rows
from selfplay.train.step import StepOptions, Trainer

TURN = 64
"""Tokens of an answer, and of what is observed after it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--prompt", type=int, default=1024)
    parser.add_argument("--answer", type=int, default=512, help="tokens after the prompt, half of them answered")
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    torch.set_num_threads(os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as folder:
        make_model(Path(folder) / "model")
        report([sheet(asked, Path(folder))], asked.json)


def sheet(asked: argparse.Namespace, folder: Path) -> Sheet:
    budget = asked.prompt + asked.members * asked.answer
    scorer = load_scorer(folder / "model", ModelOptions(precision="fp32"))
    trainer = Trainer(scorer, StepOptions(lr=0.0, budget=budget, refused=folder))
    batches = {
        kind: group(asked.members, asked.prompt, asked.answer, apart=kind == "apart") for kind in ("shared", "apart")
    }
    packed = {kind: rows(batch, budget) for kind, batch in batches.items()}
    seconds: dict[str, list[float]] = {kind: [] for kind in batches}
    for _ in range(1 + asked.rounds):
        for kind, batch in batches.items():
            began = time.process_time()
            trainer.step(batch, grpo, sum(example.trained for example in batch))
            seconds[kind].append(time.process_time() - began)
    best = {kind: min(times[1:]) for kind, times in seconds.items()}
    each = [Figure(f"{kind}: an update", best[kind], "core s") for kind in best]
    held = [Figure(f"{kind}: tokens in its rows", sum(len(row.ids) for row in packed[kind]), "") for kind in best]
    floor, found = operations(packed["apart"]) / operations(packed["shared"]), best["apart"] / best["shared"]
    most = Figure("as fast, by its operations", floor, "times")
    title = f"{asked.members} attempts, a prompt of {asked.prompt} tokens and {asked.answer} after it"
    return Sheet(title, (*each, *held, most, at_least("as fast with a shared prompt", found, 0.85 * floor, "times")))


def operations(packed: list[PackedRow]) -> float:
    """Of an update: the layers' products forward, again and twice backward; attention forward and two and a half times
    backward; the head once forward and twice backward."""
    size, inner, layers = (SHAPE[name] for name in ("hidden_size", "intermediate_size", "num_hidden_layers"))
    keys = size * SHAPE["num_key_value_heads"] // SHAPE["num_attention_heads"]
    weights = layers * (2 * size * size + 2 * size * keys + 3 * size * inner)
    pairs = sum(
        one.shared**2 / 2 + sum(own * one.shared + own**2 / 2 for own in one.own)
        for row in packed
        for one in row.layout
    )
    tokens, trained = sum(len(row.ids) for row in packed), sum(int(row.mask.sum()) for row in packed)
    return 8 * weights * tokens + 3.5 * 4 * size * layers * pairs + 6 * size * VOCABULARY * trained


def group(members: int, prompt: int, answer: int, *, apart: bool) -> list[Example]:
    """Random tokens. `apart`: each begins with another token."""
    draw = random.Random(0)
    shared = [draw.randrange(2, VOCABULARY) for _ in range(prompt)]
    mask = [0] * prompt + [int(at // TURN % 2 == 0) for at in range(answer)]
    return [
        Example(
            f"attempt {number}",
            [number if apart else 0, *shared[1:], *(draw.randrange(2, VOCABULARY) for _ in range(answer))],
            mask,
            {"advantages": [1.0 if number % 2 else -1.0] * len(mask)},
        )
        for number in range(members)
    ]


if __name__ == "__main__":
    main()
