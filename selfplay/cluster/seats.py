"""Places at several hosts, given out in the order of steps, and within a step in order of arrival."""

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class EpisodeSlots:
    """`each` places at each of `hosts` hosts. `away`: hosts whose places are not given out. Used on one event loop."""

    def __init__(self, hosts: int, each: int) -> None:
        self.free = [each] * hosts
        self.away: set[int] = set()
        self._broken: BaseException | None = None
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrival = itertools.count()

    @asynccontextmanager
    async def taken(self, step: int, home: Callable[[], int | None] = lambda: None) -> AsyncIterator[int]:
        """Takes a place for the context; gives the host's number. `home`: returns the preferred host, called when there
        is a place. Raises the error given to `fail`."""
        while not self._open():
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (step, next(self._arrival), turn))
            try:
                await turn
            except asyncio.CancelledError:
                self._wake()  # it may have been this waiter's turn
                raise
        if self._broken is not None:
            raise self._broken
        found = self._open()
        wanted = home()
        host = wanted if wanted in found else max(found, key=self.free.__getitem__)
        self.free[host] -= 1
        try:
            yield host
        finally:
            self.free[host] += 1
            self._wake()

    def back(self, host: int) -> None:
        """Give out the places of a host that was away again."""
        self.away.discard(host)
        for _ in range(self.free[host]):
            self._wake()

    def fail(self, error: BaseException) -> None:
        """Give out no more places: all present and future waiters get this error."""
        self._broken = error
        while self._waiting:
            self._wake()

    def _open(self) -> list[int]:
        """The hosts with a free place; all hosts after `fail`."""
        if self._broken is not None:
            return list(range(len(self.free)))
        return [host for host, free in enumerate(self.free) if free and host not in self.away]

    def _wake(self) -> None:
        """Wake the first waiter if there is a place."""
        while self._waiting and self._open():
            turn = heapq.heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                return
