"""The trainer's log-probabilities are those the engine sampled with after an update that was loaded back; before one,
see `test_engine.py`, which has the engines."""

import math
from asyncio import Runner
from collections.abc import Iterable, Sequence
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
from selfplay.train.sft_loop import cross_entropy
from selfplay.train.step import StepOptions, Trainer
from selfplay.train.weights import write_model

FP32 = ModelOptions(precision="fp32")
TOLD = (Message("system", "You are a careful engineer."), Message("user", "Look around, then repair the bug."))


def answers(model, chat: ChatFormat, loop: Runner, most: int = 2) -> list[Example]:  # type: ignore[no-untyped-def]
    """Answers of 24 tokens with the engine's log-probabilities."""
    prompt, found = chat.opening(TOLD), []
    for number in range(most):
        sample = loop.run(model.sample(prompt, Sampling(max_tokens=24), ()))
        given = [0.0] * len(prompt)
        numbers = {"sampled": [*given, *sample.logprobs]}
        mask = [0] * len(prompt) + [1] * len(sample.ids)
        found.append(Example(f"answer {number}", [*prompt, *sample.ids], mask, numbers))
    return found


def apart(trainer: Trainer, examples: list[Example]) -> float:
    """The mean absolute difference of the log-probabilities, packed into one row."""
    return distance(examples, trainer.logprobs(examples), [example.numbers["sampled"] for example in examples])


def distance(examples: list[Example], mine: Iterable[Sequence[float]], theirs: Iterable[Sequence[float]]) -> float:
    """The mean absolute difference inside the mask."""
    pairs = [
        (one, other)
        for example, ours, others in zip(examples, mine, theirs, strict=True)
        for one, other, on in zip(ours, others, example.mask, strict=True)
        if on
    ]
    return sum(abs(one - other) for one, other in pairs) / len(pairs)


@pytest.mark.slow
def test_after_an_update_that_was_loaded_back(smollm2: Path, chat: ChatFormat, loop: Runner, tmp_path: Path) -> None:
    """Stored in float32: bf16 cannot tell a step of 1e-4 in a weight above 0.05, and it would be lost."""
    trainer = Trainer(load_scorer(smollm2, FP32), StepOptions(lr=1e-4))
    prompt = chat.opening(TOLD)
    answer = chat.answer_ids("I look.")
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
    answer = chat.answer_ids("I look.")
    lesson = Example("lesson", [*prompt, *answer], [0] * len(prompt) + [1] * len(answer))
    trainer.step([lesson], cross_entropy, lesson.trained)
    write_model(trainer.scorer, tmp_path, smollm2, torch.float32)
    loop.run(engine.reload(str(tmp_path), 1))
    examples = answers(engine, chat, loop)
    assert apart(trainer, examples) < 1e-3
    assert apart(Trainer(load_scorer(smollm2, FP32)), examples) > 0.02  # the update is seen


@pytest.mark.slow
def test_vllm_in_bf16(smollm2: Path, chat: ChatFormat, loop: Runner) -> None:
    """bf16 on both sides. Either is less than 0.05, the tolerance of the policies' own benchmark, from float32; the two
    are as far apart as roundings are that know nothing of each other: the root of the sum of their squares.
    192 tokens: on 48 the mean distance of the two lies between 0.030 and 0.053, by what was sampled."""
    engine = loop.run(VllmModel.open(str(smollm2), replace(VLLM, dtype="bfloat16")))
    try:
        examples = answers(engine, chat, loop, 8)
    finally:
        loop.run(engine.close())
    narrow, wide = (Trainer(load_scorer(smollm2, ModelOptions(precision=one))) for one in ("bf16", "fp32"))
    own = distance(examples, narrow.logprobs(examples), wide.logprobs(examples))
    theirs = apart(wide, examples)
    assert own < 0.05 and theirs < 0.05
    assert apart(narrow, examples) < 1.2 * math.hypot(own, theirs)
