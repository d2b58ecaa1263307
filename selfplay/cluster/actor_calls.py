"""Waiting for an actor: a deadline for every call, and a call that nobody waits for any more is cancelled there too.

What a call may end with is an answer, `ActorLost`, or `ActorAway`, which is one kind of the former.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import ray
from ray.exceptions import ActorUnavailableError, RayError, RayTaskError

T = TypeVar("T")
CLOSE_SECONDS = 60.0
LOOK_EVERY = 1.0
"""Seconds between two looks at an actor that is awaited or looked after."""


class ActorLost(Exception):
    """The actor died, failed in a way that is no answer, does not answer in time, or what it answered is gone."""


class ActorAway(ActorLost):
    """Ray is starting the actor again, or waits for a node with room for it; or it cannot be reached."""


async def answered(call: Any, seconds: float) -> Any:
    """What the call returns. `seconds`: how long it is waited for. Raises `ActorLost`."""
    try:
        async with asyncio.timeout(seconds):
            return await call
    except RayTaskError as error:  # before TimeoutError: it is also of the kind that the actor raised
        raise ActorLost(f"it failed: {_last_line(error)}") from error
    except ActorUnavailableError as error:
        raise ActorAway("the actor is being started again") from error
    except RayError as error:
        raise ActorLost(f"the actor was lost: {_last_line(error)}") from error
    except TimeoutError as error:
        _cancelled(call)
        raise ActorLost(f"no answer within {seconds:.0f} s") from error
    except asyncio.CancelledError:
        _cancelled(call)
        raise


async def all_of(waiting: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """All results. When one raises, the others are cancelled and awaited: none outlives Ray."""
    tasks = [asyncio.ensure_future(one) for one in waiting]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def ended(actors: Sequence[Any]) -> None:
    """Let actors close what they hold, and end them, whatever became of them."""
    await asyncio.gather(*(answered(one.close.remote(), CLOSE_SECONDS) for one in actors), return_exceptions=True)
    for one in actors:
        ray.kill(one)


def _last_line(error: Exception) -> str:
    said = str(error).strip() or type(error).__name__
    return said.splitlines()[-1][:300]


def _cancelled(call: Any) -> None:
    """Cancel it there. It may have ended meanwhile, and its actor; without Ray there is nothing to cancel."""
    try:
        if ray.is_initialized():
            ray.cancel(call)
    except (RayError, ValueError, TypeError):
        return
