"""Threads in which an event loop runs blocking work: commands in sandboxes, test suites, files.

Each thread runs one task at a time, so that suites do not compete while a thousand episodes wait for a model. A thread
never waits for a sandbox's admission: that is awaited on the loop (`admission.py`). Otherwise a few waiting episodes
would occupy all the threads that running ones need.

Who has begun goes first: a new sandbox is opened when no open one wants a thread. In order of arrival, hundreds would
be opened together, go on step by step together and end together, and the threads would stand idle in between.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class _Work:
    call: Callable[[], Any]
    result: Future[Any]


class Workers:
    """`count` threads, ended with the context: running work is awaited, waiting work is dropped."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="worker")
        self._lock = threading.Lock()
        self._begun: deque[_Work] = deque()
        self._new: deque[_Work] = deque()

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function`, called in a thread. After a cancellation a started call runs to its end: close the
        sandbox that it waits for."""
        return await self._called(partial(function, *args, **kwargs), self._begun)

    @asynccontextmanager
    async def entered(self, context: AbstractContextManager[T]) -> AsyncIterator[T]:
        """Enter a blocking context, such as an open sandbox, in a thread that no `run` waits for. It is left in an
        additional thread, because all `count` threads may be waiting for commands in sandboxes that are being closed.
        """
        value = await self._called(context.__enter__, self._new)
        try:
            yield value
        finally:
            await asyncio.shield(asyncio.to_thread(context.__exit__, None, None, None))

    async def _called(self, call: Callable[[], T], waiting: deque[_Work]) -> T:
        work = _Work(call, Future())
        with self._lock:
            waiting.append(work)
        self._threads.submit(self._next)
        return cast(T, await asyncio.wrap_future(work.result))

    def _next(self) -> None:
        """What each thread does, once for each piece of work: the first in order, not the one that it was asked for."""
        with self._lock:
            work = (self._begun or self._new).popleft()
        if not work.result.set_running_or_notify_cancel():
            return
        try:
            work.result.set_result(work.call())
        except BaseException as error:
            work.result.set_exception(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        for work in (*self._begun, *self._new):
            work.result.cancel()
