"""An endpoint that fails, drops, stalls or drips: what is asked again, how often, and how much at once."""

import asyncio
import itertools
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from policies.asking import ERROR, HELLO, ask
from recorded import serving

from selfplay.agent import Call
from selfplay.agent.chat_conversation import ChatConversation
from selfplay.agent.conversation import Style
from selfplay.agent.model import ModelError
from selfplay.agent.tools import SSR_TOOLS
from selfplay.policies.endpoint import Endpoint, EndpointOptions


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
