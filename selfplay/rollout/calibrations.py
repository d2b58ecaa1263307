"""Calibrations of bugs while a run goes on: whoever needs one first has it made, the others await it."""

import asyncio
from collections.abc import Callable

from selfplay.oracle.calibration import Calibration
from selfplay.oracle.errors import OracleError
from selfplay.sandbox.workers import Workers


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
