"""Reads an endpoint's answer as a reply. Servers differ, so a field of the wrong type counts as absent."""

import json
import math
import uuid
from dataclasses import dataclass
from typing import Any

from selfplay.agent.model import NativeCall, Reply, Sample, Usage
from selfplay.plain_text import well_formed
from selfplay.untrusted_json import count_values

MOST_ID = 2**31 - 1
MOST_COUNT = 10**12
MOST_VALUES = 1_000_000
DIGITS = 40
"""Values in an answer, of which 32,000 tokens with their log-probabilities have some 400,000; digits of an integer."""


@dataclass(frozen=True)
class Prices:
    """Prices per million tokens."""

    fresh: float
    cached: float
    out: float


def parsed(data: bytes) -> Any:
    """An answer's JSON. Raises `ValueError` for anything else, for too many values and for integers that no field of
    an answer has, and `RecursionError`."""
    if count_values(data) > MOST_VALUES:
        raise ValueError(f"it may hold more than {MOST_VALUES} values")
    return json.loads(data, parse_int=_integer)


def _integer(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def read_reply(body: object, retries: int, prices: Prices) -> Reply | None:
    """The first choice's message; None when `body` is not a chat completion."""
    choices = _of(body, "choices", list)
    choice = choices[0] if choices else None
    message = _of(choice, "message", dict)
    if message is None:
        return None
    thoughts = _of(message, "reasoning_content", str) or _of(message, "reasoning", str) or ""
    length = _of(choice, "finish_reason", str) == "length"
    sample, usage = _sample(body, choice, length), _usage(body, retries, prices)
    return Reply(_content(message), _calls(message), well_formed(thoughts), length, sample, usage)


def _of(value: object, name: str, kind: type) -> Any:
    """The field `name` of a JSON object if it has this type, else None."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None


def _content(message: object) -> str:
    """The message's text, which some servers return in parts."""
    parts = _of(message, "content", list) or ()
    text = _of(message, "content", str) or "".join(_of(part, "text", str) or "" for part in parts)
    return well_formed(text)


def _calls(message: object) -> tuple[NativeCall, ...]:
    found = []
    for call in _of(message, "tool_calls", list) or ():
        function = _of(call, "function", dict)
        name = _of(function, "name", str)
        if name is None:
            continue
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        id = _of(call, "id", str) or f"call-{uuid.uuid4().hex[:12]}"  # a tool message must name the call it answers
        found.append(NativeCall(well_formed(id), well_formed(name), well_formed(text)))
    return tuple(found)


def _sample(body: object, choice: object, length: bool) -> Sample | None:
    """The token ids, if the endpoint returned them all with their log-probabilities."""
    prompt, ids = _ids(_of(body, "prompt_token_ids", list)), _ids(_of(choice, "token_ids", list))
    entries = _of(_of(choice, "logprobs", dict), "content", list) or ()
    said = [entry.get("logprob") if isinstance(entry, dict) else None for entry in entries]
    logprobs = tuple(float(one) for one in said if isinstance(one, int | float) and math.isfinite(one))
    if not prompt or not ids or not len(ids) == len(said) == len(logprobs):
        return None
    return Sample(ids, logprobs, length, prompt)


def _ids(found: list[Any] | None) -> tuple[int, ...]:
    """Token ids; empty if one of the values is not an id."""
    good = found is not None and all(type(one) is int and 0 <= one <= MOST_ID for one in found)
    return tuple(found) if found and good else ()


def _usage(body: object, retries: int, prices: Prices) -> Usage:
    said = _of(body, "usage", dict)
    prompt, completion = _count(said, "prompt_tokens"), _count(said, "completion_tokens")
    cached = min(prompt, _count(_of(said, "prompt_tokens_details", dict), "cached_tokens"))
    cost = (prompt - cached) * prices.fresh + cached * prices.cached + completion * prices.out
    return Usage(1, retries, prompt, cached, completion, cost / 1e6)


def _count(value: object, name: str) -> int:
    return min(MOST_COUNT, max(0, _of(value, name, int) or 0))
