"""Calibrations of bugs during a run: the first episode that needs one makes it, and others wait for the result."""

import asyncio
from collections.abc import Callable

from selfplay.oracle.calibration import Calibration
from selfplay.oracle.errors import OracleError
from selfplay.sandbox.workers import Workers


class Calibrations:
    """The calibrations that a run has asked for, by bug. Lives on one event loop."""

    def __init__(self) -> None:
        self._known: dict[str, asyncio.Future[Calibration]] = {}

    async def get(self, bug: str, workers: Workers, make: Callable[[], Calibration]) -> Calibration:
        """The calibration of `bug`. The first caller runs `make` in a thread; the others wait for its result.

        Raises what `make` raises. If the first caller is cancelled or loses its sandbox, the next one runs `make`
        instead.
        """
        while (future := self._known.get(bug)) is not None:
            try:
                return await asyncio.shield(future)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not future.cancelled() or (task is not None and task.cancelling()):
                    raise  # the caller itself was cancelled
        future = self._known[bug] = asyncio.get_running_loop().create_future()
        try:
            found = await workers.run(make)
        except OracleError as error:
            future.set_exception(error)
            future.exception()  # marks it as retrieved: perhaps no other caller is waiting
            raise
        except BaseException:
            del self._known[bug]
            future.cancel()
            raise
        future.set_result(found)
        return found
