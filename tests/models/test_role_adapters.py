"""Both engines with an adapter for each role: a role is sampled with its own, beside the other."""

import asyncio
from asyncio import Runner
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from models.conftest import VLLM
from models.train.test_parity import TOLD, apart
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import ModelError, Sample, Sampling
from selfplay.policies.transformers_model import TransformersModel, TransformersOptions
from selfplay.policies.vllm_engine import VllmModel
from selfplay.train.lora import LoraOptions
from selfplay.train.model import ModelOptions, load_scorers
from selfplay.train.packing import Example
from selfplay.train.sft_loop import cross_entropy
from selfplay.train.step import StepOptions, Trainer
from selfplay.train.weights import write_model

RANK = 4
ROLES = {"injector": "I break it.", "solver": "Nothing is broken here."}
Engine = VllmModel | TransformersModel


@pytest.fixture(scope="module")
def small(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model whose heads have a size that vLLM knows on a CPU."""
    folder = tmp_path_factory.mktemp("models") / "small"
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=49_152, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=8192, tie_word_embeddings=True,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(smollm2).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def trainers(small: Path, chat: ChatFormat) -> dict[str, Trainer]:
    """Each has learned a sentence of its own."""
    scorers = load_scorers(small, ModelOptions(precision="fp32", lora=LoraOptions(RANK)), 2)
    prompt = chat.opening(TOLD)
    for scorer, text in zip(scorers, ROLES.values(), strict=True):
        answer, trainer = chat.answer_ids(text), Trainer(scorer, StepOptions(lr=0.05))
        lesson = Example("lesson", [*prompt, *answer], [0] * len(prompt) + [1] * len(answer))
        for _ in range(3):
            trainer.step([lesson], cross_entropy, lesson.trained)
    return {role: Trainer(scorer) for role, scorer in zip(ROLES, scorers, strict=True)}


def written(trainers: dict[str, Trainer], small: Path, folder: Path) -> str:
    for role, trainer in trainers.items():
        write_model(trainer.scorer, folder / role, small, torch.float32)
    return str(folder)


async def sampled(engine: Engine, chat: ChatFormat, roles: list[str]) -> list[Sample]:
    how = Sampling(max_tokens=24)
    models = [engine.for_episode(role, f"episode {number}") for number, role in enumerate(roles)]
    return await asyncio.gather(*(one.sample(chat.opening(TOLD), how, ()) for one in models))


def example(sample: Sample) -> Example:
    given = [0.0] * len(sample.prompt)
    mask = [0] * len(given) + [1] * len(sample.ids)
    return Example("answer", [*sample.prompt, *sample.ids], mask, {"sampled": [*given, *sample.logprobs]})


def check(engine: Engine, trainers: dict[str, Trainer], chat: ChatFormat, loop: Runner, folder: str) -> None:
    """Before there are adapters all roles sample the same model. Then each its own, though both are asked at once and
    have the same prompt, so that a prefix cached for one would serve the other."""
    roles = [*ROLES, *ROLES]
    assert [one.versions for one in loop.run(sampled(engine, chat, roles))] == [(0, 0)] * 4
    loop.run(engine.reload(folder, 3))
    for role, sample in zip(roles, loop.run(sampled(engine, chat, roles)), strict=True):
        assert sample.versions == (3, 3)
        for other, trainer in trainers.items():
            difference = apart(trainer, [example(sample)])
            assert difference < 1e-3 if other == role else difference > 0.1, (role, other, difference)
    with pytest.raises(ModelError):
        loop.run(engine.sample(chat.opening(TOLD), Sampling(max_tokens=1), ()))
    loop.run(engine.reload(folder, 4))
    assert loop.run(sampled(engine, chat, ["solver"]))[0].versions == (4, 4)


def test_transformers(
    small: Path, trainers: dict[str, Trainer], chat: ChatFormat, loop: Runner, tmp_path: Path
) -> None:
    how = TransformersOptions(dtype="float32", context=2048, lora_rank=RANK)
    engine = loop.run(TransformersModel.open(str(small), how))
    try:
        check(engine, trainers, chat, loop, written(trainers, small, tmp_path))
        with pytest.raises(ModelError, match="has no adapters for the roles"):
            loop.run(engine.reload(str(small), 5))
        assert loop.run(sampled(engine, chat, ["solver"]))[0].versions == (4, 4)
    finally:
        loop.run(engine.close())


@pytest.mark.slow
def test_vllm(small: Path, trainers: dict[str, Trainer], chat: ChatFormat, loop: Runner, tmp_path: Path) -> None:
    engine = loop.run(VllmModel.open(str(small), replace(VLLM, lora_rank=RANK)))
    try:
        check(engine, trainers, chat, loop, written(trainers, small, tmp_path))
        with pytest.raises(ModelError, match="has no adapters for the roles"):
            loop.run(engine.reload(str(small), 5))
        (tmp_path / "solver" / "adapter" / "adapter_model.safetensors").write_bytes(b"nothing")
        with pytest.raises(ModelError, match=r"the adapters in .* cannot be loaded"):
            loop.run(engine.reload(str(tmp_path), 6))
        assert loop.run(sampled(engine, chat, ["solver"]))[0].versions == (4, 4)
    finally:
        loop.run(engine.close())
