"""The OpenAI-compatible policy against an endpoint on this machine that fails, drops, stalls and talks nonsense."""

import asyncio
import contextlib
import gzip
import itertools
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from recorded import completion, serving

from selfplay.agent import Budget, Call, Malformed, Observation
from selfplay.agent.chat_conversation import ChatConversation
from selfplay.agent.conversation import Style
from selfplay.agent.model import ContextFull, Message, ModelError, Reply, Sampling
from selfplay.agent.tools import SSR_TOOLS
from selfplay.policies.endpoint import Endpoint, EndpointOptions

HELLO = (Message("user", "Hello."),)
ERROR = '{"error": {"message": "%s", "code": "%s"}}'


def ask(url: str, count: int = 1, check: bool = False, **options: Any) -> list[Reply]:
    """`count` replies at once."""

    async def run() -> list[Reply]:
        endpoint = Endpoint("m", EndpointOptions(base_url=url, **options))
        if check:
            await endpoint.check()
        try:
            return await asyncio.gather(*(endpoint.reply(HELLO, Sampling(max_tokens=7)) for _ in range(count)))
        finally:
            await endpoint.close()

    return asyncio.run(run())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that are not an endpoint's are asked for twice, not four times, between which three seconds pass."""
    monkeypatch.setattr("selfplay.policies.endpoint.ODD_ANSWERS", 2)


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, "application/json", ERROR % ("bad key", "x")),
         r"refuses the key: .*bad key.*\n  Put a valid key into \$OPENAI_API_KEY\."),
        ((404, "application/json", ERROR % ("no such model", "x")), r"has no model 'm', or is not such an endpoint"),
        ((200, "text/html", "<html><body>Sign in</body></html>"),
         r"does not answer as an OpenAI-compatible endpoint: '<html>.*\n  --base-url usually ends with /v1\."),
        ((200, "application/json", "{not json"), r"does not answer as an OpenAI-compatible endpoint"),
        ((200, "application/json", '{"object": "list"}'), r"does not answer as an OpenAI-compatible endpoint"),
        ((200, "application/json", '{"id": "x", "choices": []}'), r"does not answer as an OpenAI-compatible endpoint"),
        ((200, "application/json", '{"id": "x", "choices": [{"index": 0}]}'), r"does not answer as an OpenAI-comp"),
        ((400, "application/json", ERROR % ("unknown field", "x")), r"rejects the request: .*unknown field"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("impatient")
def test_what_is_no_endpoint_is_said_before_anything_runs(answer: tuple[int, str, str], said: str) -> None:
    with serving(lambda request: answer) as (url, _), pytest.raises(ModelError, match=said):
        ask(url, check=True)


def answering(part: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    """A good answer but for one part of it."""

    def answer(request: dict[str, Any]) -> tuple[int, str, str]:
        whole = with_ids({**request, "return_token_ids": True})
        choice = whole["choices"][0]
        {"choices": whole, "usage": whole, "prompt_token_ids": whole, "message": choice, "token_ids": choice,
         "logprobs": choice}.get(part, choice["message"])[part] = value  # fmt: skip
        return 200, "application/json", json.dumps(whole)

    return answer


@pytest.mark.slow
@pytest.mark.parametrize("value", [{"0": 1}, "abc", [None], [1], [{"message": "hi"}], [{"message": None}]])
@pytest.mark.usefixtures("impatient")
def test_choices_that_are_none_are_no_answer(value: Any) -> None:
    with serving(answering("choices", value)) as (url, _), pytest.raises(ModelError, match="as an OpenAI-compatible"):
        ask(url, check=True)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("usage", "none"), ("usage", {}), ("usage", [1]), ("usage", {"prompt_tokens": None, "completion_tokens": "x"}),
        ("tool_calls", [{"type": "function"}]), ("tool_calls", {"a": 1}), ("tool_calls", [None]), ("content", 5),
        ("token_ids", ["a", "b", "c", "d", "e"]), ("token_ids", [2**40] * 5), ("token_ids", [-1] * 5),
        ("prompt_token_ids", "abc"), ("prompt_token_ids", [[1]]), ("logprobs", [1]), ("logprobs", {"content": [1] * 5}),
        ("logprobs", {"content": [{"logprob": float("nan")}] * 5}), ("logprobs", {"content": [{"logprob": None}] * 5}),
    ],
)  # fmt: skip
def test_parts_of_another_kind_count_as_not_said(part: str, value: Any) -> None:
    with serving(answering(part, value)) as (url, _):
        (reply,) = ask(url, token_ids=True)
    assert reply.calls == () and reply.usage.requests == 1
    assert (reply.sample is None) == ("token" in part or part == "logprobs")
    assert (reply.usage.prompt_tokens == 0) == (part == "usage")


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


@pytest.mark.slow
def test_one_that_drips_for_ever_does_not_answer_in_time() -> None:
    """Each piece comes in time, the whole never."""
    with serving(lambda request: "drip") as (url, _), pytest.raises(ModelError, match="does not answer in time"):
        ask(url, check=True, answer_seconds=0.5, retries=1)


@pytest.mark.slow
def test_one_that_stalls_for_ever_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfplay.policies.endpoint.CHECK_SECONDS", 0.2)
    started = time.monotonic()
    with serving(lambda request: "stall") as (url, _), pytest.raises(ModelError, match=r"does not answer in time"):
        ask(url, check=True)
    assert time.monotonic() - started < 15  # three tries, between which the client waits up to two seconds


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


def test_nobody_there() -> None:
    with pytest.raises(ModelError, match=r"cannot be reached: .*\n  Check --base-url and the network"):
        ask("http://127.0.0.1:9/v1", retries=0)


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 8192 tokens", "prompt is too long: 8193 tokens > 8192 maximum",
        "the request exceeds the available context size of 8192 tokens", f"{'x' * 400} context length 8192",
        "The input token count (8193) exceeds the maximum number of tokens allowed (8192)",
    ],
)  # fmt: skip
def test_a_full_context_is_told_from_other_errors(said: str) -> None:
    answer = (400, "application/json", ERROR % (said, "x"))
    with serving(lambda request: answer) as (url, _), pytest.raises(ContextFull):
        ask(url)


def flaky(seed: int, share: float) -> Callable[[dict[str, Any]], Any]:
    """Fails a share of the calls: 500, 503, 429, a dropped connection, a stall, a page instead of JSON."""
    rng, lock = random.Random(seed), threading.Lock()
    kinds: list[Any] = [
        (500, "application/json", ERROR % ("oops", "x")), (503, "text/plain", "busy"), "drop", "stall",
        (429, "application/json", ERROR % ("slow down", "x")), (200, "text/html", "<html>gateway</html>"),
    ]  # fmt: skip

    def answer(request: dict[str, Any]) -> Any:
        with lock:
            failure = rng.choice(kinds) if rng.random() < share else None
        said = sum(message["role"] == "assistant" for message in request["messages"])
        return failure or f"<tool: bash>\necho {said}\n</tool>"

    return answer


@pytest.mark.slow
def test_an_endpoint_that_fails_a_fifth_of_its_calls_loses_no_episode() -> None:
    """24 episodes of 5 turns; the client waits at least half a second before it asks again."""

    async def episode(endpoint: Endpoint) -> tuple[list[str], int]:
        conversation = ChatConversation(endpoint, "m", "solver", HELLO, Style(), toolset=SSR_TOOLS)
        said = []
        for _ in range(5):
            turn = await conversation.act(None)
            assert isinstance(turn, Call)
            said.append(turn.arguments["command"])
        return said, conversation.usage.retries

    async def run(url: str) -> list[tuple[list[str], int]]:
        endpoint = Endpoint("m", EndpointOptions(base_url=url, answer_seconds=4.0, concurrency=24))
        return await asyncio.gather(*(episode(endpoint) for _ in range(24)))

    with serving(flaky(1, 0.2)) as (url, server):
        played = asyncio.run(run(url))
    assert [said for said, _ in played] == [[f"echo {n}" for n in range(5)]] * 24
    retries = sum(count for _, count in played)
    assert retries > 10  # a fifth of 120 and of the retries: 30 expected
    # on a busy machine a client may give up a request before the server has read it
    assert 24 * 5 < len(server.requests) <= 24 * 5 + retries


@pytest.mark.slow
def test_retries_of_an_answer_that_was_no_completion_count_too() -> None:
    """503, a page instead of JSON, 503, an answer: three times asked again."""
    answers = iter([(503, "text/plain", "busy"), (200, "text/html", "<html>"), (503, "text/plain", "busy"), "Ready."])

    with serving(lambda request: next(answers)) as (url, server):
        (reply,) = ask(url)
    assert (reply.text, reply.usage.retries, len(server.requests)) == ("Ready.", 3, 4)


def test_no_more_at_once_than_asked_for() -> None:
    running, most, lock, two = [0], [0], threading.Lock(), threading.Barrier(2)
    arrived = itertools.count()

    def answer(request: dict[str, Any]) -> str:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
            order = next(arrived)
        if order < 2:
            two.wait(20)  # the first two are here at once, however busy the machine is
        with lock:
            running[0] -= 1
        return "ok"

    with serving(answer) as (url, _):
        assert len(ask(url, 20, concurrency=4)) == 20
    assert 2 <= most[0] <= 4


def test_requests_a_minute_are_kept() -> None:
    with serving(lambda request: "ok") as (url, _):
        started = time.monotonic()
        ask(url, 4, requests_per_minute=300)  # one each 0.2 s: the fourth starts after 0.6 s
    assert time.monotonic() - started > 0.55


@pytest.mark.slow
def test_requests_that_are_asked_again_count() -> None:
    with serving(lambda request: (500, "text/plain", "busy")) as (url, server), pytest.raises(ModelError):
        started = time.monotonic()
        ask(url, retries=2, requests_per_minute=60)  # the client alone would ask again after half a second and one
    assert time.monotonic() - started > 1.9 and len(server.requests) == 3


def with_ids(request: dict[str, Any]) -> dict[str, Any]:
    """As vLLM's server: ids of the prompt and of the answer, a log-probability each."""
    said = sum(message["role"] == "assistant" for message in request["messages"])
    whole = completion(f"<tool: bash>\necho {said}\n</tool>", request)
    if request.get("return_token_ids"):
        whole["prompt_token_ids"] = list(range(10 * (said + 1)))
        whole["choices"][0]["token_ids"] = list(range(10 * (said + 1), 10 * (said + 1) + 5))
        whole["choices"][0]["logprobs"] = {
            "content": [{"token": "x", "logprob": -0.25, "bytes": None, "top_logprobs": []}] * 5
        }
    return whole


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


def test_an_endpoint_that_refuses_to_return_ids_is_asked_without() -> None:
    def strict(request: dict[str, Any]) -> Any:
        if "return_token_ids" in request:
            return (400, "application/json", ERROR % ("Unrecognized request argument: return_token_ids", "x"))
        return "ready"

    with serving(strict) as (url, server):
        (reply,) = ask(url, check=True)
    assert reply.sample is None and ["return_token_ids" in request for request in server.requests] == [
        True,
        False,
        False,
    ]


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


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("usage", "tokens"), [("9" * 4000, 0), ("-5", 0), ("7", 7), ("1e999", 0), ('"x"', 0), ("9" * 19, 10**12)]
)
def test_figures_that_no_answer_has_count_for_nothing(usage: str, tokens: int) -> None:
    said = f'{{"choices": [{{"message": {{"content": "x"}}}}], "usage": {{"prompt_tokens": {usage}}}}}'
    with serving(lambda request: (200, "application/json", said)) as (url, _):
        if len(usage) > 1000:
            with pytest.raises(ModelError, match="does not answer as an OpenAI-compatible endpoint"):
                ask(url, price_in=1.0)
            return
        (reply,) = ask(url, price_in=1.0)
    assert reply.usage.prompt_tokens == tokens


class Hostile(BaseHTTPRequestHandler):
    """An endpoint that answers with what its server was given: headers and a body."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        headers, body = self.server.said  # type: ignore[attr-defined]
        self.send_response(307 if "Location" in headers else 200)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@contextlib.contextmanager
def hostile(headers: dict[str, str], body: bytes) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        server.said = headers, body  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.mark.parametrize("how", ["gzip", "zstd", ""])
def test_a_small_answer_that_is_large_unpacked_is_refused(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfplay.policies.paced_client.MOST_ANSWER", 100_000)
    body = gzip.compress(b" " * 1_000_000) if how == "gzip" else b" " * (1_000_000 if not how else 10)
    with hostile({"Content-Encoding": how} if how else {}, body) as url, pytest.raises(ModelError):
        ask(url, retries=0)


def test_a_packed_answer_is_read() -> None:
    said = completion("Hi.", {"model": "m", "messages": []})
    with hostile({"Content-Encoding": "gzip"}, gzip.compress(json.dumps(said).encode())) as url:
        (reply,) = ask(url)
    assert reply.text == "Hi."


def test_an_endpoint_sends_nobody_on() -> None:
    with serving(lambda request: "inside") as (inner, server):
        with hostile({"Location": f"{inner}/chat/completions"}, b"") as url, pytest.raises(ModelError):
            ask(url, retries=0)
        assert server.requests == []
