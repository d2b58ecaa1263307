"""Calibrations of bugs: made once, by whoever needs one first, while the others await it; stored beside the bug, so
that later attempts and other processes use the same one. A bug that cannot be graded is stored as that, too.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from selfplay.curriculum.calibrations import calibration_key, read_calibration, write_calibration
from selfplay.oracle.calibrate import calibrate
from selfplay.oracle.calibration import Calibration, CalibrationFailure, Oracle
from selfplay.oracle.errors import OracleError
from selfplay.oracle.world import Task
from selfplay.sandbox import Backend, Limits
from selfplay.sandbox.workers import Workers

TRIES = 2


def calibration_of(
    folder: Path,
    backend: Backend,
    task: Task,
    oracle: Oracle,
    limits: Limits = Limits(),
    *,
    counterfactual: bool = True,
) -> Calibration:
    """The calibration of the bug in `folder`: the stored one, or one made now and stored.

    Raises `OracleError` for a bug that cannot be graded, also where that is what was stored.
    """
    key = calibration_key(task, oracle, limits, backend)
    found = read_calibration(folder, key)
    if found is None or (counterfactual and isinstance(found, Calibration) and found.impossible is None):
        found = _made(backend, task, oracle, limits, counterfactual)
        write_calibration(folder, key, found)
    if isinstance(found, CalibrationFailure):
        raise found.error()
    return found


def _made(
    backend: Backend, task: Task, oracle: Oracle, limits: Limits, counterfactual: bool
) -> Calibration | CalibrationFailure:
    """A calibration, or why there is none: a failure is believed when it comes twice, since a busy machine can time one
    run out, and what is stored is stored for good."""
    failure = CalibrationFailure("")
    for _ in range(TRIES):
        try:
            return calibrate(backend, task, oracle, limits, counterfactual=counterfactual)
        except OracleError as error:
            failure = CalibrationFailure.of(error)
    return failure


class Calibrations:
    """Those that a run has asked for, by bug. Lives on one event loop."""

    def __init__(self) -> None:
        self._known: dict[str, asyncio.Future[Calibration]] = {}

    async def get(self, bug: str, workers: Workers, make: Callable[[], Calibration]) -> Calibration:
        """The calibration of `bug`; the first who asks calls `make` in a thread, the others await what it gives.

        Raises what `make` raises. A maker that is cancelled or loses its sandbox leaves it to the next.
        """
        while (future := self._known.get(bug)) is not None:
            try:
                return await asyncio.shield(future)
            except asyncio.CancelledError:
                if not future.cancelled():  # it is who asks that was cancelled
                    raise
        future = self._known[bug] = asyncio.get_running_loop().create_future()
        try:
            found = await workers.run(make)
        except OracleError as error:
            future.set_exception(error)
            future.exception()  # seen: nobody else may be waiting
            raise
        except BaseException:
            del self._known[bug]
            future.cancel()
            raise
        future.set_result(found)
        return found
