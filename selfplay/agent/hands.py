"""Who does the waiting of an episode: the caller's thread, or an event loop with a few threads for the tools.

One loop of turns serves both. A script needs no event loop; models need one, so that a thousand episodes can wait for
an engine at once while only as many tools and tests run as the machine has room for.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Executor
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

from selfplay.agent.actions import Observation, Turn

P = ParamSpec("P")
T = TypeVar("T")


class Policy(Protocol):
    """Whatever answers an observation with a turn. One object plays one episode."""

    name: str

    def act(self, observation: Observation | None) -> Any:
        """The next turn, given what the last one gave (None at first), or a coroutine that returns it; None when there
        is nothing more to do."""
        ...


class AsyncPolicy(Protocol):
    """A policy whose turns are waited for: a model."""

    name: str

    async def decide(self, observation: Observation | None) -> Turn:
        """As `Policy.act`."""
        ...


class Hands(Protocol):
    """How an episode waits for its policy and for its tools."""

    async def think(self, policy: Any, observation: Observation | None, seconds: float) -> Turn:
        """The policy's next turn. Raises `TimeoutError` where it can be stopped after `seconds`."""
        ...

    async def work(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `function` returns, blocking as it is."""
        ...


class Here:
    """Everything in the calling thread: for a `Policy`, driven by `at_once`."""

    async def think(self, policy: Policy, observation: Observation | None, seconds: float) -> Turn:
        turn: Any = policy.act(observation)
        return asyncio.run(turn) if asyncio.iscoroutine(turn) else turn

    async def work(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)


class Threads:
    """An `AsyncPolicy` on the running event loop, blocking work in the threads of `executor`."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def think(self, policy: AsyncPolicy, observation: Observation | None, seconds: float) -> Turn:
        async with asyncio.timeout(seconds):
            return await policy.decide(observation)

    async def work(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, partial(function, *args, **kwargs))


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine that never really waits returns."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise RuntimeError("this coroutine waits for something: it needs an event loop")


@asynccontextmanager
async def entered(hands: Hands, context: AbstractContextManager[T]) -> AsyncIterator[T]:
    """A blocking context manager, entered and left by `hands`."""
    value = await hands.work(context.__enter__)
    try:
        yield value
    except asyncio.CancelledError:  # the run ends, and its threads may be gone already
        context.__exit__(None, None, None)
        raise
    except BaseException:
        await hands.work(context.__exit__, None, None, None)
        raise
    await hands.work(context.__exit__, None, None, None)
