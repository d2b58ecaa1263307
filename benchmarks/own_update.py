"""Our update on the examples of `training_load`.

`python -m benchmarks.own_update KIND MODEL EXAMPLES FOLDER THREADS UPDATES [keep]`; `keep`: activations are kept.
"""

import json
import sys
from pathlib import Path

import torch

from benchmarks.training_load import LENGTH, Clock, figures
from selfplay.train.model import ModelOptions, load_scorer
from selfplay.train.packing import Example
from selfplay.train.sft_loop import cross_entropy
from selfplay.train.step import StepOptions, Tokens, Trainer


def grpo(tokens: Tokens) -> torch.Tensor:
    """PPO's clipped loss on policy, as the peer computes it: the old log-probabilities are the new ones."""
    ratio, advantages = (tokens.logprobs - tokens.logprobs.detach()).exp(), tokens.numbers["advantages"]
    gain = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
    return -torch.where(tokens.mask, gain, 0.0).sum()


def main(kind: str, model: str, examples: str, folder: str, threads: str, updates: str, keep: str = "") -> None:
    torch.set_num_threads(int(threads))
    found, clock = json.loads(Path(examples).read_text()), Clock()
    batch = [
        Example(str(number), e["ids"], e["mask"], {"advantages": [e["advantage"]] * len(e["ids"])})
        for number, e in enumerate(found)
    ]
    scorer = load_scorer(model, ModelOptions(precision="fp32", checkpointing=not keep))
    trainer = Trainer(scorer, StepOptions(lr=1e-6, budget=LENGTH, refused=Path(folder)))
    for _ in range(int(updates)):
        clock.begin()
        trainer.step(batch, grpo if kind == "grpo" else cross_entropy, sum(example.trained for example in batch))
        clock.end()
    print(json.dumps(figures(clock.times, clock.cores, found)))


if __name__ == "__main__":
    main(*sys.argv[1:])
