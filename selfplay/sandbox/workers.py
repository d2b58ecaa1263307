"""Threads in which an event loop runs blocking work: commands in sandboxes, test suites, files.

Each thread runs one task at a time, so that suites do not compete while a thousand episodes wait for a model. A thread
never waits for a sandbox's admission: that is awaited on the loop (`admission.py`). Otherwise a few waiting episodes
would occupy all the threads that running ones need.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """`count` threads, ended with the context: running work is awaited, waiting work is dropped."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="worker")

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function`, called in a thread. After a cancellation a started call runs to its end: close the
        sandbox that it waits for."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(function, *args, **kwargs))

    @asynccontextmanager
    async def entered(self, context: AbstractContextManager[T]) -> AsyncIterator[T]:
        """Enter a blocking context, such as an open sandbox, in a thread. It is left in an additional thread, because
        all `count` threads may be waiting for commands in sandboxes that are being closed."""
        value = await self.run(context.__enter__)
        try:
            yield value
        finally:
            await asyncio.shield(asyncio.to_thread(context.__exit__, None, None, None))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
