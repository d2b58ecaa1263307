"""Runs that many artifacts share: the original, once per script. One thread runs it; the others wait for the result."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock

from selfplay.workbench.result import TestRun


class RunCache:
    """Thread-safe and bounded; the least recently used entries are dropped first."""

    def __init__(self, entries: int = 256) -> None:
        self._entries = entries
        self._runs: OrderedDict[Hashable, Future[TestRun]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, compute: Callable[[], TestRun]) -> TestRun:
        """The run for `key`, computed by at most one thread at a time.

        An error of `compute` is raised to its caller and not kept: the next caller tries again.
        """
        while True:
            with self._lock:
                future, mine = self._runs.get(key), False
                if future is None:
                    future, mine = Future(), True
                    self._runs[key] = future
                self._runs.move_to_end(key)
                while len(self._runs) > self._entries:
                    self._runs.popitem(last=False)
            if mine:
                self._fill(key, future, compute)
                return future.result()
            with suppress(Exception):  # another thread failed: try again here, and not below its error
                return future.result()

    def _fill(self, key: Hashable, future: Future[TestRun], compute: Callable[[], TestRun]) -> None:
        try:
            future.set_result(compute())
        except BaseException as error:
            with self._lock:
                if self._runs.get(key) is future:
                    del self._runs[key]
            future.set_exception(error)
