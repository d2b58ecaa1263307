"""Where episodes are played: a thread for each, or many on a model's event loop with a few threads for their tools.

On an event loop as many episodes wait for the engine as the player likes, while only `workers` tools, suites and
sandbox starts run at a time: the engine never waits for a test suite, and suites do not crowd each other out.
"""

import gc
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from selfplay.agent.hands import Hands, Here, Threads, at_once
from selfplay.policies.loop import LoopThread
from selfplay.rollout.players import Player

COLLECT = (50_000, 20, 50)
"""New objects before a young collection, and these before older ones: 700, 10, 10 by default."""
T = TypeVar("T")
Work = Callable[[Hands], Coroutine[Any, Any, T]]
"""An episode and what follows it, waiting by the hands it is given."""


class Stage(Protocol):
    """Plays episodes, `places` at a time; left, it has waited for what runs."""

    places: int

    def start(self, work: Work[T]) -> Future[T]:
        """Play one; what it raises, the future raises."""
        ...

    def abandon(self) -> None:
        """Wait for nothing more."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def stage_for(player: Player | None, workers: int) -> Stage:
    """The stage that suits the player. `workers`: threads for what blocks."""
    if player is None or player.loop is None:
        return ThreadStage(workers)
    return LoopStage(player.loop, player.episodes, workers)


class ThreadStage:
    """A thread for each episode."""

    def __init__(self, workers: int) -> None:
        self.places = workers
        self._executor = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="episode")

    def start(self, work: Work[T]) -> Future[T]:
        return self._executor.submit(lambda: at_once(work(Here())))

    def abandon(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(wait=kind is None)


class LoopStage(ThreadStage):
    """Episodes as coroutines on `loop`."""

    def __init__(self, loop: LoopThread, places: int, workers: int) -> None:
        super().__init__(workers)
        self.places, self._loop = places, loop
        self._running: set[Future[Any]] = set()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.enter_context(_rare_collections())
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._open:
            super().__exit__(kind, error, trace)

    def start(self, work: Work[T]) -> Future[T]:
        future = self._loop.submit(work(Threads(self._executor)))
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    def abandon(self) -> None:
        for future in list(self._running):
            future.cancel()
        super().abandon()


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
