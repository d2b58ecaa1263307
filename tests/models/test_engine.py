"""vLLM in process and transformers: ids in and out, log-probabilities that agree, versions, cancelling, limits."""

import asyncio
import json
import time
from asyncio import Runner
from pathlib import Path

import pytest
import torch
from models.sampled_answers import difference, perturbed, prompts, recomputed, sampled
from models.train.test_parity import FP32, answers, apart
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from selfplay.agent import Observation
from selfplay.agent.actions import Budget
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.conversation import Style, TokenConversation
from selfplay.agent.model import Message, ModelError, Sample, Sampling
from selfplay.agent.tools import SSR_TOOLS
from selfplay.policies.transformers_model import TransformersModel, TransformersOptions
from selfplay.policies.vllm_engine import NO_SEEDS_ON_CPU, VllmModel, why_no_seeds
from selfplay.train.model import load_scorer
from selfplay.train.step import Trainer


@pytest.fixture(scope="module")
def judge(smollm2: Path) -> torch.nn.Module:
    """transformers in fp32: what recomputes log-probabilities."""
    return AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32).eval()


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_log_probabilities_of_vllm_agree_with_transformers(
    engine: VllmModel, chat: ChatFormat, loop: Runner, judge: torch.nn.Module, temperature: float
) -> None:
    samples = loop.run(sampled(engine, chat, 48, temperature=temperature))
    assert [sample.prompt for sample in samples] == [tuple(prompt) for prompt in prompts(chat)]
    assert all(len(sample.ids) == len(sample.logprobs) for sample in samples)
    assert difference(judge, samples, temperature) < 0.02


def test_log_probabilities_of_the_batched_model_agree_too(
    slow_model: TransformersModel, chat: ChatFormat, loop: Runner, judge: torch.nn.Module
) -> None:
    """Prompts of three lengths in one batch, padded; each row stops by itself."""
    samples = loop.run(sampled(slow_model, chat, 24))
    assert difference(judge, samples) < 0.02
    assert [sample.prompt for sample in samples] == [tuple(prompt) for prompt in prompts(chat)]
    for sample in samples:
        assert sample.length == (sample.ids[-1] not in chat.stop) and len(sample.ids) <= 24
        assert not set(sample.ids[:-1]) & set(chat.stop)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["engine", "slow_model"])
def test_the_trainer_s_agree_too(
    name: str, request: pytest.FixtureRequest, smollm2: Path, chat: ChatFormat, loop: Runner
) -> None:
    """float32 on both sides; 0.02 is the tolerance of the policies' own benchmark, rounding is far below it."""
    trainer = Trainer(load_scorer(smollm2, FP32))
    assert apart(trainer, answers(request.getfixturevalue(name), chat, loop)) < 1e-3


def test_both_find_the_same_most_likely_words(
    engine: VllmModel, slow_model: TransformersModel, chat: ChatFormat, loop: Runner
) -> None:
    greedy = [loop.run(sampled(model, chat, 12, temperature=0.0)) for model in (engine, slow_model)]
    assert [s.ids for s in greedy[0]] == [s.ids for s in greedy[1]]
    for one, other in zip(*greedy, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=0.02)


def test_a_prompt_of_several_pieces_is_computed_with_the_engine_s_seed_alone(
    engine: VllmModel, chat: ChatFormat, loop: Runner
) -> None:
    """vLLM on CPU dies of a request with a seed whose prompt is longer than one piece; here it is refused."""
    prompt = chat.opening([Message("user", "word " * 400)])
    assert len(prompt) > 3 * 128 and why_no_seeds() == NO_SEEDS_ON_CPU
    with pytest.raises(ModelError, match=r"cannot draw a request by a seed of its own: .*\n  Seed the engine instead"):
        loop.run(engine.sample(prompt, Sampling(max_tokens=4, seed=5), chat.stop))
    sample = loop.run(engine.sample(prompt, Sampling(max_tokens=4), chat.stop))
    assert sample.prompt == tuple(prompt) and sample.ids


def test_a_seed_repeats_a_sample_in_any_batch(slow_model: TransformersModel, chat: ChatFormat, loop: Runner) -> None:
    first = loop.run(slow_model.sample(prompts(chat)[0], Sampling(max_tokens=8, seed=5), chat.stop))

    async def among_others() -> Sample:
        seeds = (1, 5, 9)
        calls = [slow_model.sample(prompts(chat)[0], Sampling(max_tokens=8, seed=seed), chat.stop) for seed in seeds]
        return (await asyncio.gather(*calls))[1]

    assert loop.run(among_others()).ids == first.ids


def test_top_p_draws_from_the_nucleus_alone(slow_model: TransformersModel, chat: ChatFormat, loop: Runner) -> None:
    """A nucleus this small holds one token, whose probability in it is 1."""
    samples = loop.run(sampled(slow_model, chat, 6, top_p=1e-6))
    assert all(value == pytest.approx(0, abs=1e-5) for sample in samples for value in sample.logprobs)


def test_an_episode_in_ids_has_no_drift(engine: VllmModel, chat: ChatFormat, loop: Runner) -> None:
    opening = (Message("system", "You are helpful."), Message("user", "Use a tool."))
    style = Style(Sampling(max_tokens=24))
    conversation = TokenConversation(engine, chat, "injector", opening, style, toolset=SSR_TOOLS)

    async def play() -> None:
        for turn in range(6):
            seen = Observation(f"line {turn}\n", 0, Budget(9, 99)) if turn else None
            await conversation.act(seen)

    loop.run(play())
    record = conversation.record()
    assert record.drift == 0 and len(record.segments) == 1
    assert record.usage.requests == 6 and record.usage.completion_tokens == sum(record.segments[0].mask)


def test_a_cancelled_request_leaves_the_engine(engine: VllmModel, chat: ChatFormat, loop: Runner) -> None:
    async def cancel() -> float:
        endless = Sampling(max_tokens=1500)
        tasks = [asyncio.create_task(engine.sample(prompts(chat)[2], endless, ())) for _ in range(16)]
        await asyncio.sleep(0.3)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert any(isinstance(error, asyncio.CancelledError) for error in ended)  # some may have ended by themselves
        started = time.monotonic()
        await engine.sample(prompts(chat)[0], Sampling(max_tokens=2), chat.stop)
        assert not engine._engine.output_processor.request_states  # nothing is left waiting for tokens
        return time.monotonic() - started

    assert loop.run(cancel()) < 10


def test_new_weights_have_a_new_version_and_the_old_come_back(
    engine: VllmModel, smollm2: Path, chat: ChatFormat, loop: Runner, tmp_path: Path
) -> None:
    greedy = {"temperature": 0.0}
    before = loop.run(sampled(engine, chat, 10, **greedy))
    other = perturbed(smollm2, tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    save_file({"model.norm.weight": weights["model.norm.weight"]}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="lacks"):  # a part of a model would be mixed with what is there
        loop.run(engine.reload(str(tmp_path), 7))
    loop.run(engine.reload(str(other), 1))
    changed = loop.run(sampled(engine, chat, 10, **greedy))
    loop.run(engine.reload(str(smollm2), 2))
    again = loop.run(sampled(engine, chat, 10, **greedy))
    assert [s.versions for s in before] == [(0, 0)] * 3
    assert [s.versions for s in changed] == [(1, 1)] * 3 and [s.ids for s in changed] != [s.ids for s in before]
    assert [s.versions for s in again] == [(2, 2)] * 3 and [s.ids for s in again] == [s.ids for s in before]


def test_answers_go_on_under_new_weights_and_say_which_sampled_them(
    engine: VllmModel, smollm2: Path, chat: ChatFormat, loop: Runner, judge: torch.nn.Module, tmp_path: Path
) -> None:
    """Weights come in the midst of three answers of 200 tokens. What was sampled before stays and is the old policy's;
    where the new one went on, the old one would say something else. Version 5 has the weights of version 3 again."""
    other = perturbed(smollm2, tmp_path / "other")

    async def changed() -> list[Sample]:
        sampling = Sampling(max_tokens=200)
        running = [asyncio.create_task(engine.sample(prompt, sampling, ())) for prompt in prompts(chat)]
        while not engine._engine.output_processor.request_states:
            await asyncio.sleep(0.01)
        await asyncio.sleep(1.5)
        assert not any(one.done() for one in running), "they end too early to be changed under way"
        await engine.reload(str(other), 4)
        return await asyncio.gather(*running)

    loop.run(engine.reload(str(smollm2), 3))
    samples = loop.run(changed())
    later = loop.run(engine.sample(prompts(chat)[0], Sampling(max_tokens=2), ()))
    loop.run(engine.reload(str(smollm2), 5))
    assert [one.versions for one in samples] == [(3, 4)] * 3 and later.versions == (4, 4)
    for one in samples:
        assert len(one.ids) == len(one.logprobs) == 200
        off = (recomputed(judge, one) - torch.tensor(one.logprobs)).abs() > 0.02
        first = int(off.int().argmax())
        assert 0 < first < 200, "tokens of both"
        assert float(off[first:].float().mean()) > 0.5, "all after the first are the new policy's"


def test_the_turn_after_a_reload_in_mid_answer_has_nothing_of_the_old_weights_in_its_cache(
    engine: VllmModel, chat: ChatFormat, loop: Runner, judge: torch.nn.Module, smollm2: Path, tmp_path: Path
) -> None:
    """The weights change in the midst of an answer, whose keys and values are cached when it ends: most of them are the
    old policy's. The next turn of that conversation begins with the same ids, and must not read them."""
    other = perturbed(smollm2, tmp_path / "other")

    async def turns() -> tuple[Sample, Sample]:
        (prompt, *_), sampling = prompts(chat), Sampling(max_tokens=200)
        running = asyncio.create_task(engine.sample(prompt, sampling, ()))
        while not engine._engine.output_processor.request_states:
            await asyncio.sleep(0.01)
        await asyncio.sleep(1.5)
        assert not running.done(), "it ends too early to be changed under way"
        await engine.reload(str(smollm2), 7)
        first = await running
        return first, await engine.sample([*prompt, *first.ids], Sampling(max_tokens=40), ())

    loop.run(engine.reload(str(other), 6))
    first, second = loop.run(turns())
    assert (first.versions, second.versions) == ((6, 7), (7, 7))
    assert difference(judge, [second]) < 0.02


def test_a_prompt_longer_than_the_context_is_an_error_not_a_crash(
    engine: VllmModel, chat: ChatFormat, loop: Runner
) -> None:
    with pytest.raises(ModelError, match="failed"):
        loop.run(engine.sample([5] * 5000, Sampling(max_tokens=4), chat.stop))
    assert loop.run(engine.sample(prompts(chat)[0], Sampling(max_tokens=2), chat.stop)).ids


def test_what_a_batch_breaks_on_its_requests_learn(tmp_path: Path, smollm2: Path, loop: Runner) -> None:
    """A tiny model with random weights and 64 places: an id beyond its vocabulary fails, the next request works."""
    config = json.loads((smollm2 / "config.json").read_text())
    tiny = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
            "num_key_value_heads": 1, "head_dim": 16, "vocab_size": 100, "max_position_embeddings": 64}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config | tiny))
    from transformers import AutoConfig

    AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(tmp_path)).save_pretrained(tmp_path)
    model = loop.run(TransformersModel.open(str(tmp_path), TransformersOptions(dtype="float32")))
    assert model.context == 64
    with pytest.raises(ModelError, match=f"transformers:{tmp_path} failed"):
        loop.run(model.sample([5, 1_000_000], Sampling(max_tokens=4), (2,)))
    sample = loop.run(model.sample([5] * 60, Sampling(), ()))
    assert sample.length and len(sample.ids) == 4  # 64 places, 60 taken
    loop.run(model.close())
    with pytest.raises(ModelError, match="is closed"):
        loop.run(model.sample([5], Sampling(max_tokens=1), ()))


@pytest.mark.parametrize("open_model", [VllmModel.open, TransformersModel.open])
def test_a_folder_without_a_model(open_model: object, tmp_path: Path, loop: Runner) -> None:
    with pytest.raises(ModelError, match=r"cannot load .*nothing"):
        loop.run(open_model(str(tmp_path / "nothing")))  # type: ignore[operator]
