"""Threads in which an event loop waits for what blocks: commands in sandboxes, test suites, files.

As many run at a time as there are threads, so that suites do not crowd each other out while a thousand episodes wait
for a model. Nothing waits for a sandbox's admission in here: that is awaited on the loop (`pool.py`), or a few waiting
episodes would take all the threads that running ones need.
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
    """`count` threads, ended when the context does: what still runs is waited for, what has not begun is dropped."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="worker")

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `function` returns, called in a thread. Cancelled, the call that has begun goes on to its end: close the
        sandbox that it waits for."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(function, *args, **kwargs))

    @asynccontextmanager
    async def entered(self, context: AbstractContextManager[T]) -> AsyncIterator[T]:
        """A context that blocks, such as an open sandbox, entered in a thread. It is left in a thread beside these: all
        of them may be waiting for commands in sandboxes that are being closed."""
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
