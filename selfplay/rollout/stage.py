"""Where episodes are played: as coroutines on one event loop, with a few threads for what blocks.

As many episodes wait for a model as the player likes, while only `workers` tools, suites and sandbox starts run at a
time: the engine never waits for a test suite, and suites do not crowd each other out.
"""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar

from selfplay.rollout.players import Player
from selfplay.sandbox.workers import Workers

COLLECT = (50_000, 20, 50)
"""New objects before a young collection, and these before older ones: 700, 10, 10 by default."""
T = TypeVar("T")
Work = Callable[[Workers], Coroutine[Any, Any, T]]
"""An episode and what follows it, with the threads for what blocks."""


class LoopThread:
    """A running event loop. Any thread may give it work."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="loop", daemon=True).start()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start the coroutine; its result as a future."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns. Interrupted, it is cancelled."""
        future = self.submit(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


@cache
def loop_thread() -> LoopThread:
    """The one loop of the process."""
    return LoopThread()


def stage_for(player: Player | None, workers: int) -> "Stage":
    """The stage that suits the player. `workers`: threads for what blocks."""
    return Stage((player.episodes if player else 0) or workers, workers)


class Stage:
    """Plays episodes, `places` at a time; left, it has waited for what runs."""

    def __init__(self, places: int, workers: int) -> None:
        self.places, self._workers, self._loop = places, Workers(workers), loop_thread()
        self._running: set[Future[Any]] = set()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.enter_context(_rare_collections())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._open:
            self._workers._threads.shutdown(wait=kind is None)

    def start(self, work: Work[T]) -> Future[T]:
        """Play one; what it raises, the future raises."""
        future = self._loop.submit(work(self._workers))
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    def abandon(self) -> None:
        """Wait for nothing more."""
        for future in list(self._running):
            future.cancel()
        self._workers._threads.shutdown(wait=False, cancel_futures=True)


@asynccontextmanager
async def entered(workers: Workers, context: AbstractContextManager[T]) -> AsyncIterator[T]:
    """A blocking context manager, entered and left in the threads of `workers`."""
    value = await workers.run(context.__enter__)
    try:
        yield value
    except asyncio.CancelledError:  # the run ends, and its threads may be gone already
        context.__exit__(None, None, None)
        raise
    except BaseException:
        await workers.run(context.__exit__, None, None, None)
        raise
    await workers.run(context.__exit__, None, None, None)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect cyclic garbage seldom: episodes keep what they did until they end, so that the collector, which stops the
    loop and every thread, would walk through all of it again and again and find nothing."""
    before = gc.get_threshold()
    gc.set_threshold(*COLLECT)
    try:
        yield
    finally:
        gc.set_threshold(*before)
