"""Where episodes are played: a thread for each, or many on a model's event loop with a few threads for their tools.

On an event loop as many episodes wait for the engine as the player likes, while only `workers` tools, suites and
sandbox starts run at a time: the engine never waits for a test suite, and suites do not crowd each other out.
"""

import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Protocol, Self, TypeVar

from selfplay.agent import Threads
from selfplay.policies.loop import LoopThread
from selfplay.rollout.players import Player

T = TypeVar("T")


class Stage(Protocol):
    """Plays episodes; left, it has waited for what runs. `places`: how many at a time."""

    places: int

    def start(
        self,
        here: Callable[[], T],
        on_loop: Callable[[Threads], Awaitable[T]],
        failed: Callable[[Exception, float], T],
    ) -> Future[T]:
        """Play an episode, by `here` or `on_loop`. What it raises, and after how many
        seconds, becomes a result by `failed`."""
        ...

    def abandon(self) -> None:
        """Wait for nothing more."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def stage_for(player: Player, workers: int) -> Stage:
    """The stage that suits the player. `workers`: threads for what blocks."""
    if player.loop is None:
        return ThreadStage(workers)
    return LoopStage(player.loop, player.episodes, workers)


class _Pool:
    def __init__(self, workers: int) -> None:
        self._executor = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="episode")

    def abandon(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(wait=kind is None)


class ThreadStage(_Pool):
    """A thread for each episode."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.places = workers

    def start(
        self,
        here: Callable[[], T],
        on_loop: Callable[[Threads], Awaitable[T]],
        failed: Callable[[Exception, float], T],
    ) -> Future[T]:
        def play() -> T:
            started = time.monotonic()
            try:
                return here()
            except Exception as error:
                return failed(error, time.monotonic() - started)

        return self._executor.submit(play)


class LoopStage(_Pool):
    """Episodes as coroutines on `loop`."""

    def __init__(self, loop: LoopThread, places: int, workers: int) -> None:
        super().__init__(workers)
        self.places, self._loop = places, loop
        self._running: set[Future] = set()

    def start(
        self,
        here: Callable[[], T],
        on_loop: Callable[[Threads], Awaitable[T]],
        failed: Callable[[Exception, float], T],
    ) -> Future[T]:
        async def play() -> T:
            started = time.monotonic()
            try:
                return await on_loop(Threads(self._executor))
            except Exception as error:
                return failed(error, time.monotonic() - started)

        future = self._loop.submit(play())
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    def abandon(self) -> None:
        for future in list(self._running):
            future.cancel()
        super().abandon()
