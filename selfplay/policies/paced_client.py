"""The HTTP client of an endpoint: at most a given number of requests per minute, and a time limit on a whole answer."""

import asyncio
import importlib
import time
from typing import Any

import openai

_http = importlib.import_module(str(openai.DefaultAsyncHttpxClient.__base__.__module__).partition(".")[0])
"""The HTTP library of the openai client: httpx, or httpx2 from version 3 on."""


class PacedClient(openai.DefaultAsyncHttpxClient):
    """Retries count as requests too. The HTTP library's timeout limits only the wait for each piece of an answer, so a
    server that trickles blanks could take forever; this limit is for the whole answer."""

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
        """Each request takes the next free start time."""
        if self._pause:
            now = time.monotonic()
            start = max(now, self._next_start)
            self._next_start = start + self._pause
            await asyncio.sleep(start - now)
