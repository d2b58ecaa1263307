"""SkyRL's own generator on our environment, then its advantages and its loss: one step of a tiny random model."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np

import skyrl_on_311  # noqa: F401  # isort: skip
import torch
from coached_text import coached_line
from skyrl.backends.skyrl_train.inference_servers.base import InferenceEngineInterface
from skyrl.backends.skyrl_train.utils.ppo_utils import compute_advantages_and_returns, ppo_policy_loss
from skyrl.train.config import AlgorithmConfig, GeneratorConfig, SamplingParams, SkyRLGymConfig
from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator
from transformers import AutoModelForCausalLM, AutoTokenizer

from selfplay.environments.client import Client
from selfplay.environments.for_skyrl import register, rows

Served = tuple[Path, Client]


class Engine(InferenceEngineInterface):
    """An inference engine of SkyRL's kind in this process: a strong model's words in some episodes, those of the tiny
    model in the others."""

    model_name = "tiny"

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer, self.begun = model, tokenizer, set[str]()

    async def generate(self, input_batch: Any, model: str | None = None) -> Any:
        (prompt,) = input_batch["prompt_token_ids"]
        told = self.tokenizer.decode(prompt)
        line = coached_line(told, told.count("<|im_start|>assistant") - 1, told not in self.begun)
        self.begun.add(told)
        ids = self._sampled(prompt) if line is None else self.tokenizer(f"{line}<|im_end|>").input_ids
        logprobs = logprobs_of(self.model, prompt, ids).detach().tolist()
        said = self.tokenizer.decode(ids, skip_special_tokens=True)
        stopped = "stop" if ids[-1] == self.tokenizer.eos_token_id else "length"
        return {
            "responses": [said], "response_ids": [ids], "stop_reasons": [stopped], "response_logprobs": [logprobs],
        }  # fmt: skip

    def _sampled(self, prompt: list[int]) -> list[int]:
        told = torch.tensor([prompt])
        out = self.model.generate(told, max_new_tokens=8, do_sample=True, pad_token_id=self.tokenizer.pad_token_id)
        found: list[int] = out[0, len(prompt) :].tolist()
        return found

    async def finish_session(self, session_id: str) -> None:
        """There is nothing to free."""


Engine.__abstractmethods__ = frozenset()  # what only servers on GPUs do


def logprobs_of(model: Any, prompt: list[int], ids: list[int]) -> torch.Tensor:
    logits = model(torch.tensor([[*prompt, *ids]])).logits[0, len(prompt) - 1 : -1].float()
    return logits.log_softmax(-1).gather(1, torch.tensor(ids)[:, None]).squeeze(1)


def generated(data: list[dict[str, Any]], model: Any, tokenizer: Any) -> dict[str, Any]:
    """What SkyRL's generator makes of two episodes of each row."""
    register()
    register()  # again is fine
    config = GeneratorConfig(
        max_turns=4, max_input_length=8192, sampling_params=SamplingParams(max_generate_length=8, logprobs=0)
    )
    generator = SkyRLGymGenerator(config, SkyRLGymConfig(max_env_workers=4), Engine(model, tokenizer), tokenizer)
    twice = [dict(row) for row in data for _ in range(2)]
    asked: Any = {
        "prompts": [row.pop("prompt") for row in twice], "env_classes": [row.pop("env_class") for row in twice],
        "env_extras": twice, "sampling_params": None, "trajectory_ids": None, "batch_metadata": None,
    }  # fmt: skip
    found: dict[str, Any] = asyncio.run(generator.generate(asked, disable_tqdm=True))
    return found


def stepped(found: dict[str, Any], model: Any) -> float:
    """How far SkyRL's GRPO and its loss move the weights in one step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    longest = max(len(ids) for ids in found["response_ids"])
    padded = lambda values: torch.tensor([[*one, *[0] * (longest - len(one))] for one in values], dtype=torch.float32)  # noqa: E731
    mask, config = padded(found["loss_masks"]), AlgorithmConfig(use_kl_loss=False)
    advantages, _ = compute_advantages_and_returns(
        padded(found["rewards"]), mask, np.array(["one task"] * len(mask)), "grpo", config, grpo_norm_by_std=False
    )
    new = [logprobs_of(model, *pair) for pair in zip(found["prompt_token_ids"], found["response_ids"], strict=True)]
    now = torch.stack([torch.nn.functional.pad(one, (0, longest - len(one))) for one in new])
    old = padded(found["rollout_logprobs"])
    assert float(((now - old) * mask).abs().max()) < 1e-3, "what is trained is what sampled"
    loss, _ = ppo_policy_loss(now, old, advantages, config, mask)
    loss.backward()
    before = model.lm_head.weight.detach().clone()
    optimizer.step()
    return float((model.lm_head.weight.detach() - before).abs().max())


def test_a_step_of_each_role(served: Served, tiny: Path) -> None:
    """An injector that plants a bug earns 1 at once, another -1; so do attempts."""
    torch.set_num_threads(1)
    run, _ = served
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    model = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32)
    for role in ("injector", "solver"):
        found = generated(rows(run, role), model, tokenizer)  # type: ignore[arg-type]
        assert sorted(sum(one) for one in found["rewards"]) == [-1.0, 1.0]
        assert [one["lost"] for one in found["env_metrics"]] == [0.0, 0.0]
        assert stepped(found, model) > 0
