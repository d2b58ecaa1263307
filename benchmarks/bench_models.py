"""A real model (SmolLM2-135M) under vLLM and transformers on this machine's CPU, playing 32 episodes at once.

The lengths are scripted, so that every run samples the same number of tokens: every answer is cut at `ANSWER` tokens,
and every turn runs a command of 50 ms in a sandbox. The bare engine gets the very same prompts, in the same order, and
nothing else to do. Needs the environment of `make models`: `make bench-models`.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Iterator, Sequence
from typing import Any

from benchmarks.figures import Figure, Sheet, at_least, at_most, report
from selfplay.agent import Call, EpisodeLimits, Trajectory, Turn, play_episode
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.conversation import Answer, Style, TokenConversation
from selfplay.agent.model import Message, Sampling, TokenModel
from selfplay.agent.tape import Segment
from selfplay.agent.tools import SSR_TOOLS
from selfplay.policies.smollm2 import fetch_smollm2
from selfplay.policies.tokenizer import load_tokenizer
from selfplay.policies.transformers_model import TransformersModel, TransformersOptions
from selfplay.policies.vllm_engine import VllmModel
from selfplay.policies.vllm_options import VllmOptions
from selfplay.repository.cache import default_cache
from selfplay.sandbox import Sandbox, World, open_backend
from selfplay.sandbox.workers import Workers

EPISODES, TURNS, ANSWER = 32, 3, 24
SIZE = f"SmolLM2-135M, {EPISODES} episodes at once, {TURNS} answers of {ANSWER} tokens"
APART = (
    "Apart: mean absolute difference between the log-probabilities of sampling and those transformers computes anew."
)
CONTEXT = 1024
TOLD = (Message("system", "You are a careful engineer."), Message("user", "Look around, then repair the bug."))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    as_json = parser.parse_args().json
    for sheet in sheets():  # minutes apart
        report([sheet], as_json)


def sheets() -> Iterator[Sheet]:
    """Throughput of vLLM and of transformers, and how far their log-probabilities are from those computed anew."""
    folder = str(fetch_smollm2(default_cache(), print))
    chat = ChatFormat(load_tokenizer(folder))
    chat.stop = ()  # nothing ends an answer but its length
    with open_backend().open(World(env={"PATH": "/usr/bin:/bin"})) as sandbox:
        sheet, rate = asyncio.run(in_vllm(folder, chat, sandbox))
        yield sheet
        yield asyncio.run(in_transformers(folder, chat, sandbox, rate))
        yield asyncio.run(in_half(folder, chat, sandbox))


async def in_vllm(folder: str, chat: ChatFormat, sandbox: Sandbox) -> tuple[Sheet, float]:
    engine = await VllmModel.open(folder, VllmOptions(dtype="float32", context=CONTEXT, cache_gb=1))
    played, rate, bare = await compared(engine, chat, sandbox)
    await engine.close()
    figures = (
        Figure("bare engine, the same requests", bare, "tokens/s"),
        at_least("episodes, of the bare engine's", 100 * rate / bare, 90, "%"),
        at_most("drift", sum(trajectory.record.drift for trajectory in played), 0, "tokens"),
        at_most("log-probabilities apart, mean", apart(folder, "float32", played[:4]), 0.02, ""),
    )
    return Sheet(f"vLLM on CPU, fp32, {SIZE}", figures, APART), rate


async def in_transformers(folder: str, chat: ChatFormat, sandbox: Sandbox, rate: float) -> Sheet:
    model = await TransformersModel.open(folder, TransformersOptions(dtype="float32", context=CONTEXT))
    played, slow = await timed(play(model, chat, sandbox))
    await model.close()
    figures = (
        Figure("episodes", slow, "tokens/s"),
        at_least("vLLM over it", rate / slow, 1.5, "times"),
        at_most("log-probabilities apart, mean", apart(folder, "float32", played[:4]), 0.02, ""),
    )
    return Sheet(f"transformers on CPU, fp32, {SIZE}", figures)


async def in_half(folder: str, chat: ChatFormat, sandbox: Sandbox) -> Sheet:
    engine = await VllmModel.open(folder, VllmOptions(dtype="bfloat16", context=CONTEXT, cache_gb=1))
    played, rate = await timed(play(engine, chat, sandbox))
    await engine.close()
    figures = (
        Figure("episodes", rate, "tokens/s"),
        Figure("log-probabilities apart, mean", apart(folder, "bfloat16", played[:4]), ""),
    )
    return Sheet(f"vLLM on CPU, bf16, {SIZE}", figures)


async def compared(engine: VllmModel, chat: ChatFormat, sandbox: Sandbox) -> tuple[list[Trajectory], float, float]:
    """Episodes, and the best of two of their tokens a second and of the bare engine's, taken in turns."""
    rates, bare = [], []
    await play(engine, chat, sandbox)  # warm
    played: list[Trajectory] = []
    for _ in range(2):
        await forget(engine)
        played, rate = await timed(play(engine, chat, sandbox))
        rates.append(rate)
        await forget(engine)
        bare.append((await timed(replay(engine, played)))[1])
    return played, max(rates), max(bare)


class Obliging(TokenConversation):
    """Whatever the model says, it is a command: the lengths are scripted, the tokens are the model's."""

    def _turn(self, answer: Answer) -> Turn:
        return Call("bash", {"command": "sleep 0.05; echo one line and another"}, answer.text)


async def play(model: TokenModel, chat: ChatFormat, sandbox: Sandbox) -> list[Trajectory]:
    style = Style(Sampling(max_tokens=ANSWER))
    limits = EpisodeLimits(calls=TURNS - 1, seconds=600)
    with Workers(8) as workers:
        policies = [Obliging(model, chat, "solver", TOLD, style, toolset=SSR_TOOLS) for _ in range(EPISODES)]
        episodes = [
            play_episode(policy, sandbox, "solver", toolset=SSR_TOOLS, workers=workers, limits=limits)
            for policy in policies
        ]
        return await asyncio.gather(*episodes)


async def replay(model: VllmModel, played: Sequence[Trajectory]) -> list[Trajectory]:
    """The prompts of the episodes, each as soon as the one before is answered, and nothing else."""

    async def chain(trajectory: Trajectory) -> None:
        for prompt in prompts(trajectory.record.segments[0]):
            await model.sample(prompt, Sampling(max_tokens=ANSWER), ())

    await asyncio.gather(*(chain(trajectory) for trajectory in played))
    return list(played)


def prompts(segment: Segment) -> Iterator[list[int]]:
    """What stood before each answer."""
    for at in range(1, len(segment.ids)):
        if segment.mask[at] and not segment.mask[at - 1]:
            yield segment.ids[:at].tolist()


async def forget(model: VllmModel) -> None:
    """Both runs begin with an empty prefix cache."""
    await model._engine.reset_prefix_cache()


async def timed(run: Awaitable[list[Trajectory]]) -> tuple[list[Trajectory], float]:
    """The trajectories, and sampled tokens a second."""
    started = time.monotonic()
    trajectories = await run
    seconds = time.monotonic() - started
    return trajectories, sum(sum(t.record.segments[0].mask) for t in trajectories) / seconds


def apart(folder: str, dtype: str, played: Sequence[Trajectory]) -> float:
    """Mean absolute difference of log-probabilities, recomputed by transformers in the same precision."""
    import torch
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    differences = []
    for trajectory in played:
        segment = trajectory.record.segments[0]
        ids = torch.tensor([segment.ids.tolist()])
        with torch.inference_mode():
            ours = torch.log_softmax(model(ids).logits[0, :-1].float(), -1).gather(1, ids[0, 1:, None]).squeeze(1)
        theirs, mask = torch.tensor(segment.logprobs.tolist())[1:], torch.tensor(segment.mask.tolist())[1:].bool()
        differences.append((ours - theirs)[mask].abs())
    return float(torch.cat(differences).mean())


if __name__ == "__main__":
    main()
