"""The one event loop of a command, and how a synchronous caller reads its results."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable
from contextlib import aclosing
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
        self._runner.__exit__(*error)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns. asyncio's runner lets `CancelledError` out where an interrupt comes after it has
        set its handler and before it has set its count of interrupts to 0 (seen with Python 3.11)."""
        try:
            return self._runner.run(coroutine)
        except asyncio.CancelledError as error:
            raise KeyboardInterrupt from error


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
