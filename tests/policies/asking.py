"""Asking an endpoint on this machine for replies, and the answers that it gives."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from recorded import completion

from selfplay.agent.model import Message, Reply, Sampling
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


def answering(part: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    """A good answer but for one part of it."""

    def answer(request: dict[str, Any]) -> tuple[int, str, str]:
        whole = with_ids({**request, "return_token_ids": True})
        choice = whole["choices"][0]
        {"choices": whole, "usage": whole, "prompt_token_ids": whole, "message": choice, "token_ids": choice,
         "logprobs": choice}.get(part, choice["message"])[part] = value  # fmt: skip
        return 200, "application/json", json.dumps(whole)

    return answer


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
