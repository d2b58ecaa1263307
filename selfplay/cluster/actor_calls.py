"""Waiting for an actor: every call has a deadline, and an abandoned call is also cancelled in the actor.

A call ends with an answer, `ActorLost`, or `ActorAway`, a subclass of `ActorLost`.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import ray
from ray.exceptions import ActorUnavailableError, RayError, RayTaskError

T = TypeVar("T")
CLOSE_SECONDS = 60.0
LOOK_EVERY = 1.0
"""Seconds between two checks of an actor."""
FAILURES = 5
"""How often in a row one actor may fail or die while it starts, or in one step, before the run ends."""


class ActorLost(Exception):
    """The actor died, failed unexpectedly or did not answer in time, or its answer was lost."""


class ActorAway(ActorLost):
    """Ray is restarting the actor or waits for a node with room for it, or the actor is unreachable."""


async def answered(call: Any, seconds: float) -> Any:
    """The call's result, awaited for at most `seconds`. Raises `ActorLost`."""
    try:
        async with asyncio.timeout(seconds):
            return await call
    except RayTaskError as error:  # before TimeoutError: it also has the actor's exception type
        raise ActorLost(f"it failed: {_last_line(error)}") from error
    except ActorUnavailableError as error:
        raise ActorAway("the actor is being restarted") from error
    except RayError as error:
        raise ActorLost(f"the actor was lost: {_last_line(error)}") from error
    except TimeoutError as error:
        _cancelled(call)
        raise ActorLost(f"no answer within {seconds:.0f} s") from error
    except asyncio.CancelledError:
        _cancelled(call)
        raise


async def all_of(waiting: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """All results. If one raises, the others are cancelled and awaited, so that none outlives Ray."""
    tasks = [asyncio.ensure_future(one) for one in waiting]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def ended(actors: Sequence[Any]) -> None:
    """Let actors free what they hold, and end them, even if they are dead."""
    await asyncio.gather(*(answered(one.close.remote(), CLOSE_SECONDS) for one in actors), return_exceptions=True)
    for one in actors:
        ray.kill(one)


def _last_line(error: Exception) -> str:
    said = str(error).strip() or type(error).__name__
    return said.splitlines()[-1][:300]


def _cancelled(call: Any) -> None:
    """Cancel the call in its actor. Either may have ended meanwhile; without Ray there is nothing to cancel."""
    try:
        if ray.is_initialized():
            ray.cancel(call)
    except (RayError, ValueError, TypeError):
        return
