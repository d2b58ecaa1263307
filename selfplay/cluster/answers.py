"""Waiting for an actor: a deadline for every call, and a call that nobody waits for any more is cancelled there too."""

import asyncio
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, RayActorError, RayError


class ActorLost(Exception):
    """The actor died, does not answer, or its node is gone; nothing is known of the call."""


class ActorAway(ActorLost):
    """Ray is starting the actor again, or waits for a node with room for it."""


async def answered(call: Any, seconds: float | None) -> Any:
    """What the call returns. `seconds`: how long it is waited for. Raises `ActorLost`, and what the call raises."""
    try:
        async with asyncio.timeout(seconds):
            return await call
    except TimeoutError as error:
        _cancelled(call)
        raise ActorLost(f"no answer within {seconds:.0f} s") from error
    except ActorUnavailableError as error:
        raise ActorAway("the actor is being started again") from error
    except RayActorError as error:
        first, *_, last = (str(error).strip() or type(error).__name__).splitlines() * 2
        raise ActorLost(f"the actor died: {first[:200]} ({last[:300]})") from error
    except asyncio.CancelledError:
        _cancelled(call)
        raise


def _cancelled(call: Any) -> None:
    try:
        ray.cancel(call)
    except (RayError, ValueError, TypeError):  # it has ended meanwhile, and so has perhaps its actor
        return
