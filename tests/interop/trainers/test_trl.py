"""TRL's GRPOTrainer, one real step of each role with a tiny random model."""

from pathlib import Path
from typing import Any

import pytest
import torch
from coached_text import coached_line
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from selfplay.environments.client import Client
from selfplay.environments.for_trl import REWARD, Rollouts, reward, rows

Served = tuple[Path, Client]


class Recorded(Rollouts):
    """Keeps what it gave the trainer."""

    found: dict[str, Any]

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        self.found = super().__call__(prompts, trainer)
        return self.found


def coached(trainer: GRPOTrainer, tokenizer: Any) -> None:
    """Let the trainer sample as ever, and put a strong model's words in place of some answers."""
    free, begun = trainer._generate_single_turn, set[str]()

    def generate(prompts: list[list[int]], *rest: Any, **how: Any) -> Any:
        sampled, logprobs = free(prompts, *rest, **how)
        for place, prompt in enumerate(prompts):
            told = tokenizer.decode(prompt)
            said = told.count("<|im_start|>assistant") - 1
            line = coached_line(told, said, told not in begun)
            begun.add(told)
            if line is not None:
                sampled[place] = tokenizer(f"{line}<|im_end|>").input_ids
        return sampled, logprobs

    trainer._generate_single_turn = generate


def stepped(data: list[dict[str, Any]], rollouts: Rollouts, tiny: Path, out: Path) -> tuple[dict[str, Any], float]:
    """The figures of one step on a group of two, and how far the weights moved."""
    config = GRPOConfig(
        str(out), max_steps=1, per_device_train_batch_size=2, num_generations=2, max_completion_length=8, beta=0.0,
        learning_rate=1e-2, report_to=[], save_strategy="no", bf16=False, logging_steps=1, disable_tqdm=True,
        use_cpu=True, dataloader_pin_memory=False, scale_rewards="none",
    )  # fmt: skip
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32)
    before = torch.cat([weight.detach().flatten().clone() for weight in model.parameters()])
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    trainer = GRPOTrainer(
        model, reward_funcs=reward, args=config, train_dataset=Dataset.from_list(data), processing_class=tokenizer,
        rollout_func=rollouts,
    )  # fmt: skip
    coached(trainer, tokenizer)
    trainer.train()
    after = torch.cat([weight.detach().flatten() for weight in trainer.model.parameters()])
    return trainer.state.log_history[0], float((after - before).abs().max())


def test_an_injector_is_paid_by_attempts_of_the_same_model(served: Served, tiny: Path, tmp_path: Path) -> None:
    """One of two members plants a bug, which one of two attempts mends: 0.1 and -1, whose mean is -0.45."""
    rollouts = Recorded(served[1], context=8192, attempts=2)
    figures, moved = stepped(rows(served[1], "injector"), rollouts, tiny, tmp_path)
    assert sorted(rollouts.found[REWARD]) == pytest.approx([-1.0, 0.1])
    assert abs(figures["rewards/reward/mean"] + 0.45) < 1e-6 and moved > 0


def test_a_solver_learns_from_its_own_tokens_alone(served: Served, tiny: Path, tmp_path: Path) -> None:
    """One of two attempts at the bug planted above mends it: +1 and -1."""
    rollouts = Recorded(served[1], context=8192)
    figures, moved = stepped(rows(served[1], "solver"), rollouts, tiny, tmp_path)
    found = rollouts.found
    assert sorted(found[REWARD]) == [-1.0, 1.0] and figures["rewards/reward/mean"] == 0.0 and moved > 0
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    mended = found[REWARD].index(1.0)
    ids, mask = found["completion_ids"][mended], found["env_mask"][mended]
    sampled = tokenizer.decode([one for one, own in zip(ids, mask, strict=True) if own])
    told = tokenizer.decode([one for one, own in zip(ids, mask, strict=True) if not own])
    assert "<tool: submit>" in sampled and "calls" in told and "<tool:" not in told
