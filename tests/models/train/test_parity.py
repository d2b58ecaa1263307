"""The trainer's log-probabilities are those the engine sampled with after an update that was loaded back; before one,
see `test_engine.py`, which has the engines."""

from asyncio import Runner
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from models.conftest import VLLM

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import Message, Sampling
from selfplay.policies.transformers_model import TransformersModel, TransformersOptions
from selfplay.policies.vllm_engine import VllmModel
from selfplay.train.model import ModelOptions, load_scorer
from selfplay.train.packing import Example
from selfplay.train.step import StepOptions, Trainer
from selfplay.train.tuning import cross_entropy
from selfplay.train.weights import write_model

FP32 = ModelOptions(precision="fp32")
TOLD = (Message("system", "You are a careful engineer."), Message("user", "Look around, then repair the bug."))


def answers(model, chat: ChatFormat, loop: Runner) -> list[Example]:  # type: ignore[no-untyped-def]
    """Two answers of 24 tokens with the engine's log-probabilities."""
    prompt, found = chat.opening(TOLD), []
    for number in range(2):
        sample = loop.run(model.sample(prompt, Sampling(max_tokens=24), ()))
        given = [0.0] * len(prompt)
        numbers = {"sampled": [*given, *sample.logprobs]}
        mask = [0] * len(prompt) + [1] * len(sample.ids)
        found.append(Example(f"answer {number}", [*prompt, *sample.ids], mask, numbers))
    return found


def apart(trainer: Trainer, examples: list[Example]) -> float:
    """The mean absolute difference of the log-probabilities, packed into one row."""
    pairs = [
        (mine, theirs)
        for example, values in zip(examples, trainer.logprobs(examples), strict=True)
        for mine, theirs, on in zip(values, example.numbers["sampled"], example.mask, strict=True)
        if on
    ]
    return sum(abs(mine - theirs) for mine, theirs in pairs) / len(pairs)


@pytest.mark.slow
def test_after_an_update_that_was_loaded_back(smollm2: Path, chat: ChatFormat, loop: Runner, tmp_path: Path) -> None:
    """Stored in float32: bf16 cannot tell a step of 1e-4 in a weight above 0.05, and it would be lost."""
    trainer = Trainer(load_scorer(smollm2, FP32), StepOptions(lr=1e-4))
    prompt = chat.opening(TOLD)
    answer = chat.answer("I look.")
    lesson = Example("lesson", [*prompt, *answer], [0] * len(prompt) + [1] * len(answer))
    trainer.step([lesson], cross_entropy, lesson.trained)
    write_model(trainer.scorer, tmp_path, smollm2, torch.float32)
    model = loop.run(TransformersModel.open(str(tmp_path), TransformersOptions(dtype="float32", context=2048)))
    examples = answers(model, chat, loop)
    loop.run(model.close())
    assert apart(trainer, examples) < 1e-3
    assert apart(Trainer(load_scorer(smollm2, FP32)), examples) > 0.02  # the update is seen


@pytest.mark.slow
def test_vllm_after_an_update_that_was_loaded_back(
    engine: VllmModel, smollm2: Path, chat: ChatFormat, loop: Runner, tmp_path: Path
) -> None:
    trainer = Trainer(load_scorer(smollm2, FP32), StepOptions(lr=1e-4))
    prompt = chat.opening(TOLD)
    answer = chat.answer("I look.")
    lesson = Example("lesson", [*prompt, *answer], [0] * len(prompt) + [1] * len(answer))
    trainer.step([lesson], cross_entropy, lesson.trained)
    write_model(trainer.scorer, tmp_path, smollm2, torch.float32)
    loop.run(engine.reload(str(tmp_path), 1))
    examples = answers(engine, chat, loop)
    assert apart(trainer, examples) < 1e-3
    assert apart(Trainer(load_scorer(smollm2, FP32)), examples) > 0.02  # the update is seen


@pytest.mark.slow
def test_vllm_in_bf16(smollm2: Path, chat: ChatFormat, loop: Runner) -> None:
    """bf16 on both sides; 0.05 is the tolerance of the policies' own benchmark."""
    engine = loop.run(VllmModel.open(str(smollm2), replace(VLLM, dtype="bfloat16")))
    try:
        examples = answers(engine, chat, loop)
    finally:
        loop.run(engine.close())
    assert apart(Trainer(load_scorer(smollm2, ModelOptions(precision="bf16"))), examples) < 0.05
