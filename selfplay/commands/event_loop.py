"""The one event loop of a command, and how a synchronous caller reads its results."""

import asyncio
import signal
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import aclosing, contextmanager
from types import FrameType
from typing import Any, Self, TypeVar

from selfplay.errors import SelfplayError
from selfplay.rollout.retries import Retries
from selfplay.rollout.scheduler import in_leases
from selfplay.sandbox import Backend
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers

J = TypeVar("J")
R = TypeVar("R")
T = TypeVar("T")


class EventLoop:
    """The event loop of a command, as a context. Nothing but an interrupt cancels what it runs."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self._runner.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        with one_at_a_time():
            self._runner.__exit__(*error)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns. asyncio's runner lets `CancelledError` out where an interrupt comes after it has
        set its handler and before it has set its count of interrupts to 0 (seen with Python 3.11)."""
        guarded = _with_one_at_a_time(coroutine)
        try:
            return self._runner.run(guarded)
        except asyncio.CancelledError as error:
            raise KeyboardInterrupt from error
        finally:
            guarded.close()  # where an interrupt kept them from their beginning
            coroutine.close()


AGAIN_SECONDS = 1.0
"""An interrupt this soon after another is the same one: a scheduler sends two signals, a user presses twice. What it
met would be the end of what was played, half way."""
_LAST = [float("-inf")]
"""When the last interrupt came."""


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """While this lasts, an interrupt soon after another is none."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - _LAST[0] >= AGAIN_SECONDS:
            _LAST[0] = now
            handler(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


async def _with_one_at_a_time(coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine, with asyncio's own handler, which is set by now, behind that rule."""
    with one_at_a_time():
        return await coroutine


def iterate(found: AsyncGenerator[T, None]) -> Generator[T, None, None]:
    """The values as they come, on their own event loop. When the caller leaves early (an error, Ctrl-C, `close`), the
    jobs that still run are cancelled and awaited."""
    with EventLoop() as runner:
        try:
            while (value := runner.run(_next(found))) is not None:
                yield value[0]
        finally:
            runner.run(_closed(found))


async def _closed(found: AsyncGenerator[T, None]) -> None:
    """End the values. An interrupt may come when the task for the next value exists but does not run yet; two tasks in
    one generator would be an error."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await found.aclose()


async def _next(found: AsyncGenerator[T, None]) -> tuple[T] | None:
    """The next value in a 1-tuple; None after the last."""
    try:
        return (await anext(found),)
    except StopAsyncIteration:
        return None


def in_parallel(
    jobs: Iterable[J],
    work: Callable[[J, Backend], R],
    workers: int,
    backend: Backend,
    unplayed: Callable[[J, SelfplayError], R] | None = None,
) -> Generator[tuple[J, R], None, None]:
    """(job, result) as they finish: each job runs in one of `workers` threads with its own sandbox lease. `unplayed`:
    the result of a job that itself causes the loss of its sandbox."""

    async def results() -> AsyncGenerator[tuple[J, R], None]:
        with Workers(workers) as threads:
            losses = Retries(unplayed)
            async with aclosing(in_leases(jobs, work, SandboxPool(backend), threads, losses=losses)) as found:
                async for one in found:
                    yield one

    return iterate(results())
