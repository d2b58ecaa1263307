"""Many jobs at once on one event loop; their results come one by one, as they finish.

A job that could not be played (its sandbox was lost, its model was down) says nothing about the policy, so it is played
again; `retries.py` has the rules. When the caller stops early (an error, Ctrl-C, leaving the loop), the jobs that still
run are cancelled and awaited; everything else stays alive.
"""

import asyncio
import gc
import logging
import os
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from typing import Generic, TypeVar

from selfplay.rollout.retries import JobState, ModelDown, Retries, RolloutError, idle_check_in
from selfplay.sandbox import Backend, InsideError, Limits, SandboxError, SandboxLost
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers

__all__ = ["ModelDown", "RolloutError", "each_of", "in_leases", "many", "one_per_core", "relaxed_gc"]
log = logging.getLogger(__name__)

J = TypeVar("J")
R = TypeVar("R")
T = TypeVar("T")
COLLECT = (50_000, 20, 50)
"""Thresholds of the garbage collector: new objects before a young collection, then young collections before each older
one; Python's defaults are 700, 10, 10."""


def one_per_core(workers: int | None) -> int:
    """How many jobs run at a time by default."""
    return workers or os.cpu_count() or 1


def each_of(jobs: Iterable[J]) -> Callable[[int], J | None]:
    """These jobs one after another, in the form that `many` asks for."""
    waiting = deque(jobs)
    return lambda running: waiting.popleft() if waiting else None


async def many(
    next_job: Callable[[int], J | None],
    play: Callable[[J], Awaitable[R]],
    places: int,
    losses: Retries[J, R] | None = None,
) -> AsyncGenerator[tuple[J, R], None]:
    """(job, result) as they finish, at most `places` at a time, until nothing runs and `next_job` returns nothing.

    `next_job` takes the number of running jobs and returns the next job to start, or None for none at the moment.
    `losses`: the rules for lost sandboxes. Raises the errors of `play`; repeated lost sandboxes or silent models raise
    `RolloutError`. Iterate within `aclosing`: an error between two results must not leave the other jobs running.
    """
    losses = losses or Retries()
    jobs = _Running(next_job, play, places, losses)
    try:
        while True:
            hold = losses.hold()
            if not hold:
                jobs.start()
            if not jobs.running and not hold:
                aside = losses.believed()
                for one in aside:
                    yield one
                if aside:
                    continue  # the caller may want others instead
                return
            ended = await _within(hold, jobs.done)
            if ended is None:
                continue
            entry = jobs.running.pop(ended)
            try:
                result = ended.result()
            except (SandboxError, ModelDown) as error:
                if not (isinstance(error, SandboxLost) and losses.met_limits(entry, error)):
                    if await losses.failed(entry, error):
                        log.warning("played again: %s", error.message)
                        jobs.again.append(entry)
                    continue
                result = losses.own_fault(entry, error)
            except InsideError as error:
                result = losses.own_fault(entry, error)
            losses.finish()
            for one in losses.believed():
                yield one
            yield entry.job, result
    finally:
        await jobs.cancel()


class _Running(Generic[J, R]):
    """The running jobs, and those to play again, which come first, and alone if they must."""

    def __init__(
        self,
        next_job: Callable[[int], J | None],
        play: Callable[[J], Awaitable[R]],
        places: int,
        losses: Retries[J, R],
    ) -> None:
        self._next_job, self._play, self._places, self._losses = next_job, play, places, losses
        self.again: deque[JobState[J]] = deque()
        self.running: dict[asyncio.Future[R], JobState[J]] = {}
        self.done: asyncio.Queue[asyncio.Future[R]] = asyncio.Queue()

    def start(self) -> None:
        """Start jobs until every place is taken or there is no job at the moment."""
        while len(self.running) < self._places and not any(one.alone for one in self.running.values()):
            if self.again and self.again[0].alone and self.running:
                return
            entry = self.again.popleft() if self.again else _entry(self._next_job(len(self.running)))
            if entry is None:
                return
            self._losses.begin(entry)
            task: asyncio.Future[R] = asyncio.ensure_future(self._play(entry.job))
            self.running[task] = entry
            task.add_done_callback(self.done.put_nowait)

    async def cancel(self) -> None:
        """Cancel what runs, and wait for its end."""
        for task in self.running:
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)


def _entry(job: J | None) -> JobState[J] | None:
    return None if job is None else JobState(job)


async def _within(hold: float, done: asyncio.Queue[T]) -> T | None:
    """The next finished task; None if none finishes during a pause of `hold` seconds (0: no pause)."""
    try:
        async with asyncio.timeout(hold or None):
            return await done.get()
    except TimeoutError:
        return None


async def in_leases(
    jobs: Iterable[J],
    work: Callable[[J, Backend], R],
    seats: SandboxPool,
    workers: Workers,
    limits: Limits = Limits(),
    losses: Retries[J, R] | None = None,
) -> AsyncGenerator[tuple[J, R], None]:
    """Like `many`, for work that is not an episode: each job runs in a thread with its own lease."""

    async def play(job: J) -> R:
        async with seats.lease(limits) as lease:
            return await workers.run(work, job, lease)

    if losses is not None and losses.idle_check is None:
        losses.idle_check = idle_check_in(seats, workers)
    async with aclosing(many(each_of(jobs), play, workers.count, losses)) as results:
        async for found in results:
            yield found


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """Collect cyclic garbage seldom. Episodes keep their data until they end, and the collector stops the loop and
    every thread: it would scan the same data again and again and find nothing."""
    before = gc.get_threshold()
    gc.set_threshold(*COLLECT)
    try:
        yield
    finally:
        gc.set_threshold(*before)
