"""Jobs on a stage, results one by one in the caller's thread: what is stored is stored by one hand.

A job whose sandbox was lost says nothing of the repository and is done again, a few times; Ctrl-C closes the
sandboxes, so that what still runs ends, and leaves what was stored.
"""

import os
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from typing import Any, TypeVar

from selfplay.errors import SelfplayError
from selfplay.rollout.stage import Stage
from selfplay.sandbox import Backend, SandboxError
from selfplay.sandbox.workers import Workers

J = TypeVar("J")
R = TypeVar("R")
LOST_SANDBOXES = 5
"""Sandboxes in a row that cannot be started after which the work stops."""


class RolloutError(SelfplayError):
    """The loop cannot go on."""


def one_per_core(workers: int | None) -> int:
    """How many jobs at a time, where nobody said it."""
    return workers or os.cpu_count() or 1


def in_parallel(jobs: Iterable[J], work: Callable[[J], R], workers: int, backend: Backend) -> Iterator[tuple[J, R]]:
    """As `on_stage`, for work that is no episode: in `workers` threads."""
    with Stage(workers, workers) as stage:
        yield from on_stage(jobs, lambda job, threads: threads.run(work, job), stage, backend)


def on_stage(
    jobs: Iterable[J], work: Callable[[J, Workers], Coroutine[Any, Any, R]], stage: Stage, backend: Backend
) -> Iterator[tuple[J, R]]:
    """(job, result) as they come, at most `stage.places` at a time. Raises what `work` raises; a `SandboxError` only
    when it came `LOST_SANDBOXES` times in a row, as `RolloutError`."""
    waiting, lost = deque(jobs), 0
    running: dict[Future[R], J] = {}
    try:
        while waiting or running:
            while waiting and len(running) < stage.places:
                job = waiting.popleft()
                running[stage.start(partial(work, job))] = job
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job = running.pop(future)
                try:
                    result = future.result()
                except SandboxError as error:
                    lost += 1
                    if lost >= LOST_SANDBOXES:
                        raise RolloutError(
                            f"{lost} sandboxes in a row failed: {error.message}", "The run can be resumed."
                        ) from error
                    waiting.append(job)
                    continue
                lost = 0
                yield job, result
    except BaseException:
        stage.abandon()
        backend.close()
        raise
