"""Jobs on a few threads, results one by one in the caller's thread: what is stored is stored by one hand.

A job whose sandbox was lost says nothing of the repository and is done again, a few times; Ctrl-C closes the
sandboxes, so that what still runs ends, and leaves what was stored.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from selfplay.errors import SelfplayError
from selfplay.sandbox import Backend, SandboxError

J = TypeVar("J")
R = TypeVar("R")
LOST_SANDBOXES = 5
"""Sandboxes in a row that cannot be started after which the work stops."""


class RolloutError(SelfplayError):
    """The loop cannot go on."""


def in_parallel(jobs: Iterable[J], work: Callable[[J], R], workers: int, backend: Backend) -> Iterator[tuple[J, R]]:
    """(job, result) as they come, at most `workers` at a time. Raises what `work` raises; a `SandboxError` only when
    it came `LOST_SANDBOXES` times in a row, as `RolloutError`."""
    waiting, lost = deque(jobs), 0
    running: dict[Future[R], J] = {}
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="job") as executor:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    job = waiting.popleft()
                    running[executor.submit(work, job)] = job
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
            executor.shutdown(wait=False, cancel_futures=True)
            backend.close()
            raise
