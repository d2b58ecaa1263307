"""Injector episodes of a command, stored as they finish, whatever becomes of each: played, failed by an error of ours,
or set aside."""

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial

from selfplay.agent import Trajectory
from selfplay.agent.actions import Finish
from selfplay.agent.episode import EpisodeLost
from selfplay.commands.storing import store_episode
from selfplay.curriculum import Curriculum, EpisodeRecord
from selfplay.errors import SelfplayError
from selfplay.rollout.injector import InjectorRun, injector_key, injector_rollout
from selfplay.rollout.losses import Losses, control_in
from selfplay.rollout.many import ModelDown, many
from selfplay.rollout.rollout import InjectorOutcome, InjectorRollout, Rollout
from selfplay.sandbox import Cause, SandboxError

log = logging.getLogger(__name__)


Inject = Callable[[int], Awaitable[InjectorRollout]]
"""Plays the injector episode of a number."""


async def stored_injections(
    run: InjectorRun,
    pool: Curriculum,
    next_number: Callable[[int], int | None],
    places: int,
    inject: Inject | None = None,
    elsewhere: bool = False,
) -> AsyncGenerator[EpisodeRecord, None]:
    """The episodes as they finish, each stored; one that is set aside is named. `next_number`: as `many` takes it.
    `inject`: who plays them. `elsewhere`: on other machines, of which an idle sandbox on this one tells nothing.

    Raises `RolloutError` when sandboxes or the model keep failing."""
    play = inject or partial(play_injection, run)
    control = None if elsewhere else control_in(run.pool, run.workers)
    losses = Losses(partial(unplayed_injection, run), control, pool.lost.count_again)
    async with aclosing(many(next_number, play, places, losses)) as rollouts:
        async for _, rollout in rollouts:
            record = store_episode(pool, rollout)
            if record.status == "unplayed":
                pool.lost.set_aside(f"episode {record.number} of {run.repository}", record.reason)
            yield record


async def play_injection(run: InjectorRun, number: int) -> InjectorRollout:
    """The rollout of the episode; an unexpected error ends only this episode."""
    started = time.monotonic()
    try:
        return await injector_rollout(run, number)
    except (SandboxError, ModelDown):
        raise
    except Exception as error:
        log.exception("episode %d failed", number)
        why = f"{type(error).__name__}: {error}"
        outcome = InjectorOutcome("failed", why, time.monotonic() - started)
        return _without_end(run, number, Finish.POLICY_ERROR, outcome)


def unplayed_injection(run: InjectorRun, number: int, error: SelfplayError) -> InjectorRollout:
    """The rollout of an episode that is set aside. One that met a limit of its sandbox again is a failed one."""
    if isinstance(error, EpisodeLost) and error.cause is Cause.LIMIT:
        key = injector_key(run, number)
        return Rollout(error.trajectory, key, InjectorOutcome("failed", error.message, error.trajectory.seconds))
    return _without_end(run, number, Finish.UNPLAYED, InjectorOutcome("unplayed", error.message, 0.0))


def _without_end(run: InjectorRun, number: int, finish: Finish, outcome: InjectorOutcome) -> InjectorRollout:
    """The rollout of an episode of which there is nothing but the reason."""
    nothing = Trajectory("injector", run.player.name, finish, error=outcome.reason)
    return Rollout(nothing, injector_key(run, number), outcome)
