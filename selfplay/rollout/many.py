"""Many jobs at once on one event loop; their results come one by one, as they finish.

A job that could not be played (its sandbox was lost, its model was down) tells nothing about the policy, so it is
played again. Too many such failures in a row end the run with the reason. When the caller stops early (an error,
Ctrl-C, leaving the loop), the jobs that still run are cancelled and awaited; everything else stays alive.
"""

import asyncio
import gc
import logging
import os
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from typing import TypeVar

from selfplay.errors import SelfplayError
from selfplay.sandbox import Backend, Limits, SandboxError
from selfplay.sandbox.pool import Pool
from selfplay.sandbox.workers import Workers

log = logging.getLogger(__name__)

J = TypeVar("J")
R = TypeVar("R")
LOST_SANDBOXES = 5
"""Jobs in a row that lost their sandbox before the run stops."""
UNANSWERED = 8
"""The same for jobs whose model did not answer."""
COLLECT = (50_000, 20, 50)
"""Thresholds of the garbage collector: new objects before a young collection, then young collections before each older
one; Python's defaults are 700, 10, 10."""


class RolloutError(SelfplayError):
    """The loop cannot go on."""


class ModelDown(SelfplayError):
    """The model ended an episode by not answering."""


def one_per_core(workers: int | None) -> int:
    """How many jobs run at a time when the user did not say."""
    return workers or os.cpu_count() or 1


def each_of(jobs: Iterable[J]) -> Callable[[int], J | None]:
    """These jobs one after another, in the form that `many` asks for."""
    waiting = deque(jobs)
    return lambda running: waiting.popleft() if waiting else None


async def many(
    next_job: Callable[[int], J | None], play: Callable[[J], Awaitable[R]], places: int
) -> AsyncGenerator[tuple[J, R], None]:
    """(job, result) as they finish, at most `places` at a time, until nothing runs and `next_job` returns nothing.

    `next_job` takes the number of running jobs and returns the next job to start, or None for none at the moment.
    Raises what `play` raises; lost sandboxes and silent models raise `RolloutError`, and only when too many come in a
    row. Iterate within `aclosing`: an error between two results must not leave the other jobs running.
    """
    again: deque[J] = deque()
    running: dict[asyncio.Future[R], J] = {}
    done: asyncio.Queue[asyncio.Future[R]] = asyncio.Queue()
    failures = _Failures()
    try:
        while True:
            while len(running) < places:
                job = again.popleft() if again else next_job(len(running))
                if job is None:
                    break
                task: asyncio.Future[R] = asyncio.ensure_future(play(job))
                running[task] = job
                task.add_done_callback(done.put_nowait)
            if not running:
                return
            ended = await done.get()
            job = running.pop(ended)
            try:
                result = ended.result()
            except (SandboxError, ModelDown) as error:
                failures.count(error)
                log.warning("played again: %s", error.message)
                again.append(job)
                continue
            failures.forget()
            yield job, result
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def in_leases(
    jobs: Iterable[J], work: Callable[[J, Backend], R], pool: Pool, workers: Workers, limits: Limits = Limits()
) -> AsyncGenerator[tuple[J, R], None]:
    """As `many`, for work that is not an episode: each job runs in a thread with its own lease."""

    async def play(job: J) -> R:
        async with pool.lease(limits) as lease:
            return await workers.run(work, job, lease)

    async with aclosing(many(each_of(jobs), play, workers.count)) as results:
        async for found in results:
            yield found


class _Failures:
    """How many failures of each kind came in a row."""

    def __init__(self) -> None:
        self._counts: Counter[type] = Counter()

    def forget(self) -> None:
        self._counts.clear()

    def count(self, error: SelfplayError) -> None:
        """Raises `RolloutError` when this failure is one too many."""
        kind = ModelDown if isinstance(error, ModelDown) else SandboxError
        self._counts[kind] += 1
        count, hint = self._counts[kind], "The run can be resumed."
        if kind is ModelDown and count >= UNANSWERED:
            raise RolloutError(f"the model failed in {count} episodes in a row: {error.message}", hint) from error
        if kind is SandboxError and count >= LOST_SANDBOXES:
            raise RolloutError(f"{count} sandboxes in a row failed: {error.message}", error.hint or hint) from error


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect cyclic garbage seldom. Episodes keep their data until they end, and the collector stops the loop and
    every thread: it would scan the same data again and again and find nothing."""
    before = gc.get_threshold()
    gc.set_threshold(*COLLECT)
    try:
        yield
    finally:
        gc.set_threshold(*before)
