"""The HTTP client of an endpoint: at most a given number of requests per minute, and limits on a whole answer.

An endpoint is a stranger: it may answer for ever, or with a small packed answer that is large unpacked, and may send a
client on to any address that this machine reaches.
"""

import asyncio
import importlib
import time
from typing import Any

import openai

from selfplay.untrusted_json import MIB, AnswerError, count_values, inflated

_http = importlib.import_module(str(openai.DefaultAsyncHttpxClient.__base__.__module__).partition(".")[0])
"""The HTTP library of the openai client: httpx, or httpx2 from version 3 on."""


MOST_ANSWER = 32 * MIB
"""Bytes of an answer, also unpacked: 32,000 tokens with their log-probabilities take some 4 MiB."""


class PacedClient(openai.DefaultAsyncHttpxClient):
    """Retries count as requests too. The HTTP library's timeout limits only the wait for each piece of an answer, so a
    server that trickles blanks could take forever; this limit is for the whole answer. No redirect is followed."""

    def __init__(self, requests_per_minute: float) -> None:
        super().__init__(follow_redirects=False)
        self._pause = 60 / requests_per_minute if requests_per_minute > 0 else 0.0
        self._next_start = 0.0

    async def send(self, request: Any, **how: Any) -> Any:
        await self._wait_for_turn()
        try:
            async with asyncio.timeout(request.extensions.get("timeout", {}).get("read")):
                return await self._whole(request, how)
        except TimeoutError as error:
            raise _http.ReadTimeout("the answer is not complete in time", request=request) from error

    async def _whole(self, request: Any, how: dict[str, Any]) -> Any:
        """The whole answer, read and unpacked within `MOST_ANSWER`."""
        request.headers["accept-encoding"] = "gzip"
        answer = await super().send(request, **{**how, "stream": True, "follow_redirects": False})
        try:
            data = bytearray()
            async for piece in answer.aiter_raw():
                data += piece
                if len(data) > MOST_ANSWER:
                    raise _http.DecodingError(f"the answer is longer than {MOST_ANSWER} bytes", request=request)
        finally:
            await answer.aclose()
        headers = [(name, value) for name, value in answer.headers.multi_items() if name.lower() not in _FRAMING]
        content = _unpacked(bytes(data), answer.headers.get("content-encoding", "").lower(), request)
        if answer.status_code >= ERROR and count_values(content) > MOST_OF_ERROR:  # the API's client reads any number
            content = content[:MOST_OF_ERROR]
        kind = answer.headers.get("content-type", "").partition(";")[0].strip() or "application/json"
        headers.append(("content-type", f"{kind}; charset=utf-8"))
        return _http.Response(answer.status_code, headers=headers, content=content, request=request)

    async def _wait_for_turn(self) -> None:
        """Each request takes the next free start time."""
        if self._pause:
            now = time.monotonic()
            start = max(now, self._next_start)
            self._next_start = start + self._pause
            await asyncio.sleep(start - now)


_FRAMING = ("content-encoding", "content-length", "transfer-encoding", "content-type")
"""Headers of how an answer was sent; a charset may be the name of any of Python's codecs."""
ERROR, MOST_OF_ERROR = 300, 10_000
"""The first status that is no answer; the values that its body may hold, else so many bytes of it are kept."""


def _unpacked(data: bytes, how: str, request: Any) -> bytes:
    if how in ("", "identity") or not data:
        return data
    if how not in ("gzip", "x-gzip"):
        raise _http.DecodingError(f"the answer is packed as {how[:40]!r}, which nobody asked for", request=request)
    try:
        return inflated(data, MOST_ANSWER, gzip=True)
    except AnswerError as error:
        raise _http.DecodingError(f"the answer cannot be unpacked: {error}", request=request) from error
