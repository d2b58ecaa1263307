"""A model behind any OpenAI-compatible endpoint, as a `TextModel`.

The client retries temporary errors with jitter (429 after the wait the server asks for, 5xx, dropped and stalled
connections). An answer that is not JSON (an error page) is requested a few more times. Token ids are used where
the endpoint returns them (vLLM's `return_token_ids`); `check` asks once whether it does.
"""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import openai

from selfplay.agent.model import ContextFull, Message, ModelError, Reply, Sampling
from selfplay.plain_text import well_formed
from selfplay.policies.completion import Prices, parsed, read_reply
from selfplay.policies.option_types import Amount, Count, Seconds, Times
from selfplay.policies.paced_client import PacedClient
from selfplay.untrusted_json import json_value

log = logging.getLogger(__name__)

ODD_ANSWERS = 4
"""How often a request is repeated if its answer is not a chat completion."""
CONTEXT_WORDS = (
    "context length", "context_length", "maximum context", "context window", "context size", "too many tokens",
    "prompt is too long", "input token count", "input is too long",
)  # fmt: skip
"""What servers write, in lower case, if a conversation does not fit."""
CHECK_SECONDS, CHECK_RETRIES = 60.0, 2
"""Time limit of the first short answer: the user waits for it."""
MOST_SHOWN = 1_000
"""Characters of an answer that is not JSON."""
NO_URL = ("--base-url is not the URL of a host", "It looks like https://HOST/v1 or http://HOST:PORT/v1.")
TOKEN_IDS = {"return_token_ids": True}


@dataclass(frozen=True)
class EndpointOptions:
    """How an endpoint is used. Prices are per million tokens; `answer_seconds`: the time limit of a whole answer.

    `requests_per_minute`: retries included; 0: no limit. `token_ids`: ask for the ids; None: try whether the endpoint
    returns them.
    """

    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: Count = 32
    retries: Times = 10
    answer_seconds: Seconds = 600.0
    requests_per_minute: Amount = 0.0
    price_in: Amount = 0.0
    price_cached: Amount | None = None
    price_out: Amount = 0.0
    token_ids: bool | None = None


class Endpoint:
    """One model of one endpoint; used on one event loop."""

    def __init__(self, model: str, options: EndpointOptions = EndpointOptions()) -> None:
        """Raises `ModelError` for a key that no request can carry, or an address that is no URL."""
        self.name, self.options = model, options
        key = os.environ.get(options.api_key_env) or "none"
        if not (key.isascii() and key.isprintable() and key == key.strip()):
            raise ModelError(
                f"${options.api_key_env} holds letters that no key has",
                "Put the key alone into it, without blanks and line ends.",
            )
        _check_url(options.base_url or os.environ.get("OPENAI_BASE_URL") or None)
        try:
            self._client = openai.AsyncOpenAI(
                base_url=options.base_url,
                api_key=key,
                max_retries=options.retries,
                timeout=options.answer_seconds,
                http_client=PacedClient(options.requests_per_minute),
            )
        except Exception as error:  # each HTTP library has its own for a URL that it cannot read
            raise ModelError(*NO_URL) from error
        self._prices = Prices(
            options.price_in,
            options.price_in if options.price_cached is None else options.price_cached,
            options.price_out,
        )
        self._places = asyncio.Semaphore(options.concurrency)
        self._token_ids = bool(options.token_ids)

    async def check(self) -> None:
        """Ask for one short answer, so that a wrong key, name or address shows before anything runs. Raises
        `ModelError`."""
        patient = self._client
        self._client = patient.with_options(
            timeout=min(CHECK_SECONDS, self.options.answer_seconds),
            max_retries=min(CHECK_RETRIES, self.options.retries),
        )
        try:
            await self._say_ready()
        finally:
            self._client = patient

    async def _say_ready(self) -> None:
        hello = [Message("user", "Say: ready")]
        short = Sampling(max_tokens=16)
        if self.options.token_ids is None:
            self._token_ids = True
            try:
                self._token_ids = (await self.reply(hello, short)).sample is not None
                return
            except _Rejected:
                self._token_ids = False
        await self.reply(hello, short)

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        """The next message. Raises `ModelError`, or `ContextFull`."""
        request = self._request(messages, sampling, tools)
        retries = 0
        async with self._places:
            for odd in range(ODD_ANSWERS):
                body, again = await self._ask(request)
                retries += again
                reply = read_reply(body, retries, self._prices)
                if reply is not None:
                    return reply if self._token_ids else replace(reply, sample=None)
                log.warning("%s: not a chat completion: %.100r", self.name, body)
                await asyncio.sleep(0.2 * 2**odd)
                retries += 1
        raise ModelError(
            f"{self._where} does not answer as an OpenAI-compatible endpoint: {str(body)[:120]!r}",
            "--base-url usually ends with /v1.",
        )

    def _request(self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Any]) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.name,
            "messages": [_said(message) for message in messages],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
        }
        if sampling.max_tokens:
            request["max_completion_tokens"] = sampling.max_tokens
        if sampling.seed is not None:
            request["seed"] = sampling.seed
        if tools:
            request["tools"] = list(tools)
        if self._token_ids:
            request |= {"logprobs": True, "extra_body": TOKEN_IDS}
        return request

    async def _ask(self, request: dict[str, Any]) -> tuple[Any, int]:
        """The answer as JSON, or as text if it is not JSON, and how often the client retried."""
        try:
            raw = await self._client.chat.completions.with_raw_response.create(**request)
            try:
                return parsed(raw.http_response.content), raw.retries_taken
            except (ValueError, RecursionError):
                return raw.http_response.content[:MOST_SHOWN].decode("utf-8", "replace"), raw.retries_taken
        except openai.OpenAIError as error:
            raise self._explained(error) from error

    def _explained(self, error: openai.OpenAIError) -> Exception:
        where, said = self._where, str(error)[:300]
        match error:
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                return ModelError(
                    f"{where} refuses the key: {said}", f"Put a valid key into ${self.options.api_key_env}."
                )
            case openai.NotFoundError():
                return ModelError(
                    f"{where} has no model {self.name!r}, or is not such an endpoint: {said}",
                    "Check the name after openai: and --base-url, which usually ends with /v1.",
                )
            case openai.APITimeoutError():
                return ModelError(f"{where} does not answer in time: {said}", "Check it, or raise answer_seconds.")
            case openai.APIConnectionError():
                return ModelError(f"{where} cannot be reached: {said}", "Check --base-url and the network.")
            case openai.BadRequestError() if any(word in str(error).lower() for word in CONTEXT_WORDS):
                return ContextFull(said)
            case openai.BadRequestError() | openai.UnprocessableEntityError():
                return _Rejected(f"{where} rejects the request: {said}")
        return ModelError(f"{where} failed: {said}")

    @property
    def _where(self) -> str:
        return f"the endpoint {self._client.base_url.copy_with(userinfo=b'', query=None)}"

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _check_url(text: str | None) -> None:
    """Raises `ModelError`, without the text, since it may hold a password."""
    try:
        parts = urlsplit(text or "")
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        usable = text is None or (whole and text.isprintable())
    except ValueError:
        usable = False
    if not usable:
        raise ModelError(*NO_URL)


class _Rejected(ModelError):
    """A request that the endpoint rejects."""


def _said(message: Message) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role, "content": well_formed(message.content)}
    if message.calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _object(call.arguments)}}
            for call in message.calls
        ]
    if message.answers:
        said["tool_call_id"] = message.answers
    return said


def _object(arguments: str) -> str:
    """A call's arguments as valid JSON: servers parse the history and reject anything else."""
    try:
        return arguments if isinstance(json_value(arguments.encode()), dict) else "{}"
    except ValueError:
        return "{}"
