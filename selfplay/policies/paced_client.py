"""The HTTP client of an endpoint: not more requests a minute than wanted, and a limit on a whole answer."""

import asyncio
import importlib
import time
from typing import Any

import openai

_http = importlib.import_module(str(openai.DefaultAsyncHttpxClient.__base__.__module__).partition(".")[0])
"""What the openai client speaks HTTP with: httpx, from version 3 on httpx2."""


class PacedClient(openai.DefaultAsyncHttpxClient):
    """Retries are requests, too. A timeout of the HTTP library limits the wait for each piece of an answer, so that a
    server that sends a blank now and then would be waited for for ever; here the whole answer has that time."""

    def __init__(self, requests_per_minute: float) -> None:
        super().__init__()
        self._pause = 60 / requests_per_minute if requests_per_minute > 0 else 0.0
        self._next_start = 0.0

    async def send(self, request: Any, **how: Any) -> Any:
        await self._wait_for_turn()
        try:
            async with asyncio.timeout(request.extensions.get("timeout", {}).get("read")):
                return await super().send(request, **how)
        except TimeoutError as error:
            raise _http.ReadTimeout("the answer is not complete in time", request=request) from error

    async def _wait_for_turn(self) -> None:
        """Each start takes the next free moment."""
        if self._pause:
            now = time.monotonic()
            start = max(now, self._next_start)
            self._next_start = start + self._pause
            await asyncio.sleep(start - now)
