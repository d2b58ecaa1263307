"""Answers that engines sample to three questions, and log-probabilities of them computed again."""

import asyncio
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import Message, Sample, Sampling
from selfplay.policies.transformers_model import TransformersModel
from selfplay.policies.vllm_engine import VllmModel

QUESTIONS = ["Count to ten.", "Name a colour, and say why you like it.", "What does a compiler do? Be brief."]


def prompts(chat: ChatFormat) -> list[list[int]]:
    return [chat.opening([Message("system", "You are helpful."), Message("user", text)]) for text in QUESTIONS]


async def sampled(model: VllmModel | TransformersModel, chat: ChatFormat, most: int, **how: float) -> list[Sample]:
    sampling = Sampling(max_tokens=most, **how)  # type: ignore[arg-type]
    return await asyncio.gather(*(model.sample(prompt, sampling, chat.stop) for prompt in prompts(chat)))


def recomputed(judge: torch.nn.Module, sample: Sample, temperature: float = 1.0) -> torch.Tensor:
    ids = torch.tensor([[*sample.prompt, *sample.ids]])
    with torch.inference_mode():
        logits = judge(ids).logits[0, len(sample.prompt) - 1 : -1].float() / temperature
    return torch.log_softmax(logits, -1).gather(1, torch.tensor(sample.ids).unsqueeze(1)).squeeze(1)


def difference(judge: torch.nn.Module, samples: list[Sample], temperature: float = 1.0) -> float:
    """The mean absolute difference over all tokens."""
    pairs = [(recomputed(judge, sample, temperature), torch.tensor(sample.logprobs)) for sample in samples]
    return float(torch.cat([(ours - theirs).abs() for ours, theirs in pairs]).mean())


def perturbed(model: Path, folder: Path) -> Path:
    """A copy of the model that says something else."""
    shutil.copytree(model, folder)
    weights, generator = load_file(folder / "model.safetensors"), torch.Generator().manual_seed(1)
    for name, tensor in weights.items():
        if name.endswith("mlp.down_proj.weight"):
            weights[name] = tensor + 0.05 * torch.randn(tensor.shape, generator=generator).to(tensor.dtype)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
