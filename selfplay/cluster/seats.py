"""Places at several hosts. Who waits gets one in the order of steps, and within a step of arrival."""

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Seats:
    """`each` places at every one of `hosts` hosts. Lives on one event loop."""

    def __init__(self, hosts: int, each: int) -> None:
        self.free = [each] * hosts
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrival = itertools.count()

    @asynccontextmanager
    async def taken(self, step: int, home: int | None = None) -> AsyncIterator[int]:
        """The number of a host with a place, which is taken inside the context. `home`: the host that is preferred."""
        while not any(self.free):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (step, next(self._arrival), turn))
            try:
                await turn
            except asyncio.CancelledError:
                self._wake()  # it may have been this one's turn
                raise
        host = home if home is not None and self.free[home] else self.free.index(max(self.free))
        self.free[host] -= 1
        try:
            yield host
        finally:
            self.free[host] += 1
            self._wake()

    def _wake(self) -> None:
        """It is the first one's turn, if there is a place."""
        while self._waiting and any(self.free):
            turn = heapq.heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                return
