"""Places at several hosts. Who waits gets one in the order of steps, and within a step of arrival."""

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class EpisodeSlots:
    """`each` places at every one of `hosts` hosts. `away`: hosts at which nobody may sit down. Lives on one event
    loop."""

    def __init__(self, hosts: int, each: int) -> None:
        self.free = [each] * hosts
        self.away: set[int] = set()
        self._broken: BaseException | None = None
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrival = itertools.count()

    @asynccontextmanager
    async def taken(self, step: int, home: Callable[[], int | None] = lambda: None) -> AsyncIterator[int]:
        """The number of a host with a place, which is taken inside the context. `home`: asked for the host that is
        preferred, when there is a place. Raises what `fail` was given."""
        while not self._open():
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (step, next(self._arrival), turn))
            try:
                await turn
            except asyncio.CancelledError:
                self._wake()  # it may have been this one's turn
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
        """A host that was away has places again."""
        self.away.discard(host)
        for _ in range(self.free[host]):
            self._wake()

    def fail(self, error: BaseException) -> None:
        """Nobody gets a place any more: all who wait, and who will, get this error."""
        self._broken = error
        while self._waiting:
            self._wake()

    def _open(self) -> list[int]:
        """The hosts with a place; all of them where it does not matter any more."""
        if self._broken is not None:
            return list(range(len(self.free)))
        return [host for host, free in enumerate(self.free) if free and host not in self.away]

    def _wake(self) -> None:
        """It is the first one's turn, if there is a place."""
        while self._waiting and self._open():
            turn = heapq.heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                return
