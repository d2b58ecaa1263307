"""TRL's own update on the examples of `training_load`.

`python trl_update.py KIND MODEL EXAMPLES FOLDER THREADS UPDATES`

Its trainers are used as they are, in float32 and with their defaults (they checkpoint activations); only the generation
of GRPO is replaced by the rollouts given, so that what is timed is forward, loss, backward and step.
"""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from datasets import Dataset
from training_load import Clock, figures
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

SHARED = {
    "per_device_train_batch_size": 1, "report_to": [], "save_strategy": "no", "bf16": False,
    "learning_rate": 1e-6, "lr_scheduler_type": "constant", "disable_tqdm": True, "logging_steps": 1, "use_cpu": True,
    "model_init_kwargs": {"dtype": "float32", "attn_implementation": "sdpa"}, "dataloader_pin_memory": False,
}  # fmt: skip


class Timed(TrainerCallback):
    def __init__(self, clock):
        self.clock = clock

    def on_step_begin(self, *_, **__):
        self.clock.begin()

    def on_step_end(self, *_, **__):
        self.clock.end()


def sft(model, examples, folder, clock, updates):
    rows = [
        {"input_ids": e["ids"], "labels": [i if on else -100 for i, on in zip(e["ids"], e["mask"], strict=True)]}
        for e in examples
    ]
    config = SFTConfig(
        folder, max_steps=updates, packing=True, max_length=2048, gradient_accumulation_steps=2, **SHARED,
    )  # fmt: skip
    return SFTTrainer(model, args=config, train_dataset=Dataset.from_list(rows * updates), callbacks=[Timed(clock)])


def grpo(model, examples, folder, clock, updates):
    config = GRPOConfig(
        folder, max_steps=updates, num_generations=len(examples), gradient_accumulation_steps=len(examples),
        max_completion_length=1536, beta=0.0, temperature=1.0, **SHARED,
    )  # fmt: skip
    told = Dataset.from_list([{"prompt": "1 2 3"}] * len(examples) * updates)
    trainer = GRPOTrainer(model, reward_funcs=lambda completions, **_: [0.0] * len(completions), args=config,
                          train_dataset=told, callbacks=[Timed(clock)])  # fmt: skip
    cut = examples[0]["prompt"]
    ids, mask = (torch.tensor([e[name] for e in examples]) for name in ("ids", "mask"))
    given = {
        "prompt_ids": ids[:, :cut], "prompt_mask": torch.ones_like(ids[:, :cut]), "completion_ids": ids[:, cut:],
        "completion_mask": torch.ones_like(ids[:, cut:]), "tool_mask": mask[:, cut:],
        "advantages": torch.tensor([e["advantage"] for e in examples]), "num_items_in_batch": mask.sum(),
    }  # fmt: skip
    trainer._generate_and_score_completions = lambda _: dict(given)
    return trainer


def main(kind, model, examples, folder, threads, updates):
    torch.set_num_threads(int(threads))
    clock, found = Clock(), json.loads(Path(examples).read_text())
    trainer = {"sft": sft, "grpo": grpo}[kind](model, found, folder, clock, int(updates))
    trainer.train()
    print(json.dumps(figures(clock.times, clock.cores, found)))


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    main(*sys.argv[1:])
