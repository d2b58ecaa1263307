"""The OpenAI client against a real server: vLLM's own, with a real model, end to end through the command."""

import asyncio
import json
import os
import subprocess
import sys
from asyncio import Runner
from pathlib import Path

import pytest
from serving import Serving

from selfplay.agent import Observation
from selfplay.agent.actions import Budget
from selfplay.agent.chat_conversation import ChatConversation
from selfplay.agent.conversation import Style
from selfplay.agent.model import ContextFull, Message, ModelError, Sampling
from selfplay.agent.tools import SSR_TOOLS
from selfplay.agent.trajectory_file import load
from selfplay.policies.endpoint import Endpoint, EndpointOptions

HELLO = (Message("system", "You are helpful."), Message("user", "Say something."))


@pytest.fixture
def endpoint(server: Serving, loop: Runner) -> Endpoint:
    async def opened() -> Endpoint:
        endpoint = Endpoint(server.model, EndpointOptions(base_url=server.url, price_in=1.0, price_out=2.0))
        await endpoint.check()
        return endpoint

    return loop.run(opened())


def test_the_server_gives_text_tokens_and_counts(endpoint: Endpoint, loop: Runner) -> None:
    reply = loop.run(endpoint.reply(HELLO, Sampling(max_tokens=12)))
    assert reply.text and reply.sample is not None
    assert len(reply.sample.ids) == len(reply.sample.logprobs) == reply.usage.completion_tokens <= 12
    assert len(reply.sample.prompt) == reply.usage.prompt_tokens
    assert all(value <= 0 for value in reply.sample.logprobs)
    # a million tokens in cost 1, out 2
    assert reply.usage.cost == pytest.approx((len(reply.sample.prompt) + 2 * len(reply.sample.ids)) / 1e6)


def test_a_chat_is_taped_by_the_ids_the_server_returns(endpoint: Endpoint, loop: Runner) -> None:
    conversation = ChatConversation(
        endpoint, "served", "solver", HELLO, Style(Sampling(max_tokens=16)), toolset=SSR_TOOLS
    )

    async def play() -> None:
        for turn in range(4):
            await conversation.act(Observation(f"{turn}", 0, Budget(9, 99)) if turn else None)

    loop.run(play())
    record = conversation.record()
    assert sum(sum(segment.mask) for segment in record.segments) == record.usage.completion_tokens
    # the server renders the history again: what that changed is counted, and begins a new segment
    assert (record.drift == 0) == (len(record.segments) == 1)


def test_many_at_once(endpoint: Endpoint, loop: Runner) -> None:
    async def ask() -> list[str]:
        replies = await asyncio.gather(*(endpoint.reply(HELLO, Sampling(max_tokens=4)) for _ in range(24)))
        return [reply.text for reply in replies]

    assert len(loop.run(ask())) == 24


def test_a_conversation_that_does_not_fit(endpoint: Endpoint, loop: Runner) -> None:
    with pytest.raises(ContextFull):
        loop.run(endpoint.reply([Message("user", "word " * 5000)], Sampling(max_tokens=4)))
    conversation = ChatConversation(endpoint, "served", "solver", (Message("user", "word " * 5000),), toolset=SSR_TOOLS)
    assert loop.run(conversation.act(None)).finish == "out_of_context"


def test_a_model_the_server_does_not_have(server: Serving, loop: Runner) -> None:
    async def ask() -> None:
        await Endpoint("gpt-17", EndpointOptions(base_url=server.url)).check()

    with pytest.raises(ModelError, match=r"has no model 'gpt-17'.*\n  Check the name after openai: and --base-url"):
        loop.run(ask())


def test_the_command_plays_a_real_model(server: Serving, shop: Path, tmp_path: Path) -> None:
    """Two episodes of a model far too small for the task: played, labelled, stored, readable."""
    out = tmp_path / "run"
    argv = [
        sys.executable, "-m", "selfplay", "curriculum", str(shop), "--out", str(out), "--bugs", "1", "--patience", "2",
        "--strategy", "feature", "--policy", "openai:smollm2", "--base-url", server.url, "--option", "episodes=2",
        "--option", "calls=3", "--option", "max_tokens=24", "--json",
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=200, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 1, done.stderr  # no bug
    figures = json.loads(done.stdout)["figures"]
    assert figures["episodes"] == 2 and sum(figures["finishes"].values()) == 2
    assert figures["usage"]["completion_tokens"] > 0
    for path in (out / "trajectories").iterdir():
        trajectory = load(path)
        assert trajectory.policy == "openai:smollm2" and trajectory.record.segments
