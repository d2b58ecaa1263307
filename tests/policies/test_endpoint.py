"""The OpenAI-compatible policy against an endpoint on this machine: what is sent, and what is read of its answers."""

import asyncio
from typing import Any

import pytest
from policies.asking import HELLO, answering, ask, with_ids
from recorded import completion, serving

from selfplay.agent import Budget, Call, Malformed, Observation
from selfplay.agent.chat_conversation import ChatConversation
from selfplay.agent.conversation import Style
from selfplay.agent.model import Message, Reply, Sampling
from selfplay.agent.tools import SSR_TOOLS
from selfplay.policies.endpoint import Endpoint, EndpointOptions


def test_what_is_sent_and_what_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    with serving(lambda request: "Hi there.") as (url, server):
        (reply,) = ask(url, api_key_env="MY_KEY", price_in=2.0, price_out=8.0)
    assert reply.text == "Hi there." and not reply.length
    request = server.requests[0]
    assert request["authorization"] == "Bearer secret"
    assert (request["model"], request["temperature"], request["top_p"]) == ("m", 1.0, 1.0)
    assert request["max_completion_tokens"] == 7 and request["messages"] == [{"role": "user", "content": "Hello."}]
    assert (reply.usage.requests, reply.usage.prompt_tokens, reply.usage.completion_tokens) == (1, 1, 2)
    assert reply.usage.cost == pytest.approx((1 * 2.0 + 2 * 8.0) / 1e6)


@pytest.mark.parametrize(("arguments", "read"), [({"command": "ls"}, '{"command": "ls"}'), (None, "{}")])
def test_native_calls_of_servers_that_say_them_otherwise(arguments: Any, read: str) -> None:
    calls = [{"id": "", "function": {"name": "bash", "arguments": arguments}}]
    with serving(answering("tool_calls", calls)) as (url, _):
        (reply,) = ask(url)
    (call,) = reply.calls
    assert (call.name, call.arguments) == ("bash", read) and call.id.startswith("call-")


def test_half_of_a_pair_can_be_sent_back() -> None:
    """A model that is cut off within an emoji that its server writes as two escapes."""

    async def run(url: str) -> Any:
        conversation = ChatConversation(
            Endpoint("m", EndpointOptions(base_url=url)), "m", "solver", HELLO, Style(), toolset=SSR_TOOLS
        )
        return [await conversation.act(None), await conversation.act(None)]

    with serving(lambda request: completion("<tool: bash>\necho \ud83d\n</tool>", request)) as (url, server):
        turns = asyncio.run(run(url))
    assert [turn.arguments for turn in turns] == [{"command": "echo \ufffd"}] * 2
    assert server.requests[1]["messages"][1]["content"] == "<tool: bash>\necho \ufffd\n</tool>"


def test_broken_arguments_are_kept_and_not_sent_back() -> None:
    """Servers parse the arguments of a history, and refuse it for one that is no JSON."""
    calls = [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls'}}]

    def answer(request: dict[str, Any]) -> Any:
        return completion("", request, tool_calls=calls, finish_reason="tool_calls")

    async def run(url: str) -> Any:
        endpoint = Endpoint("m", EndpointOptions(base_url=url))
        conversation = ChatConversation(endpoint, "m", "solver", HELLO, Style(native=True), toolset=SSR_TOOLS)
        turn = await conversation.act(None)
        await conversation.act(Observation("broken", 1, Budget(9, 9), malformed=True))
        return turn, conversation.record()

    with serving(answer) as (url, server):
        turn, record = asyncio.run(run(url))
    assert isinstance(turn, Malformed) and record.conversations[0][1].calls[0].arguments == '{"command": "ls'
    sent = server.requests[1]["messages"]
    assert sent[1]["tool_calls"][0]["function"] == {"name": "bash", "arguments": "{}"}
    assert (sent[2]["role"], sent[2]["tool_call_id"]) == ("tool", "c1")


def test_token_ids_are_taken_where_there_are_any() -> None:
    async def run(url: str) -> Any:
        endpoint = Endpoint("m", EndpointOptions(base_url=url))
        await endpoint.check()
        conversation = ChatConversation(endpoint, "m", "solver", HELLO, Style(), toolset=SSR_TOOLS)
        for _ in range(3):
            await conversation.act(None)
        return conversation.record()

    with serving(with_ids) as (url, _):
        record = asyncio.run(run(url))
    assert record.drift == 0 and len(record.segments) == 1
    segment = record.segments[0]
    assert segment.ids.tolist() == list(range(35)) and sum(segment.mask) == 15
    assert set(segment.logprobs) == {0.0, -0.25}


def test_reasoning_and_native_calls_are_read() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}]

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        return completion("", request, reasoning_content="Hm.", tool_calls=calls, finish_reason="tool_calls")

    async def run(url: str) -> Any:
        endpoint = Endpoint("m", EndpointOptions(base_url=url))
        conversation = ChatConversation(endpoint, "m", "solver", HELLO, Style(native=True), toolset=SSR_TOOLS)
        return await conversation.act(None), conversation.record()

    with serving(answer) as (url, server):
        turn, record = asyncio.run(run(url))
    assert isinstance(turn, Call) and turn.arguments == {"command": "ls"} and record.thoughts == ("Hm.",)
    assert [tool["function"]["name"] for tool in server.requests[0]["tools"]] == ["bash", "edit", "create", "submit"]


def test_bytes_of_a_repository_can_be_sent() -> None:
    async def run(url: str) -> Reply:
        endpoint = Endpoint("m", EndpointOptions(base_url=url))
        return await endpoint.reply([Message("user", "a\udcffb\ufffd")], Sampling())

    with serving(lambda request: "ok") as (url, server):
        asyncio.run(run(url))
    assert server.requests[0]["messages"][0]["content"] == "a\ufffdb\ufffd"
