"""Plays injector episodes and stores each as it finishes: played, failed with an internal error, or set aside."""

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial

from selfplay.agent import Trajectory
from selfplay.agent.actions import Finish
from selfplay.agent.episode import EpisodeLost
from selfplay.commands.storing import store_episode
from selfplay.curriculum import Curriculum, EpisodeRecord
from selfplay.errors import SelfplayError
from selfplay.rollout.injector import InjectorRun, injector_key, injector_rollout
from selfplay.rollout.retries import IdleCheck, Retries
from selfplay.rollout.rollout import InjectorKey, InjectorOutcome, InjectorRollout, Rollout
from selfplay.rollout.scheduler import ModelDown, many
from selfplay.sandbox import Cause, SandboxError
from selfplay.sandbox.errors import as_lost

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Injector:
    """The injector of one repository. `player`: its policy's name; `play`: plays the episode of a number; `key`: its
    key."""

    repository: str
    player: str
    play: Callable[[int], Awaitable[InjectorRollout]]
    key: Callable[[int], InjectorKey]


Injection = tuple[Injector, int]
"""An episode: its injector, and its number."""


def injector_of(run: InjectorRun) -> Injector:
    """The injector that plays in this process."""
    return Injector(run.repository, run.player.name, partial(play_injection, run), partial(injector_key, run))


async def stored_injections(
    pool: Curriculum, next_job: Callable[[int], Injection | None], places: int, idle_check: IdleCheck | None
) -> AsyncGenerator[EpisodeRecord, None]:
    """The episodes as they finish, each stored; one that is set aside is named. `next_job`: as `many` takes it.
    `idle_check`: lets an idle sandbox live; None if episodes are played on other machines, about which it says nothing.

    Raises `RolloutError` if sandboxes or the model keep failing."""
    losses = Retries(_unplayed, idle_check, pool.lost.count_again)
    async with aclosing(many(next_job, _played, places, losses)) as rollouts:
        async for _, rollout in rollouts:
            record = store_episode(pool, rollout)
            if record.status == "unplayed":
                pool.lost.set_aside(f"episode {record.number} of {record.repository}", record.reason)
            yield record


async def _played(job: Injection) -> InjectorRollout:
    injector, number = job
    return await injector.play(number)


async def play_injection(run: InjectorRun, number: int) -> InjectorRollout:
    """The rollout of the episode; an unexpected error ends only this episode."""
    started = time.monotonic()
    try:
        return await injector_rollout(run, number)
    except (SandboxError, ModelDown):
        raise
    except Exception as error:
        if lost := as_lost(error, "an episode could not be played"):
            raise lost from error
        log.exception("episode %d failed", number)
        why = error.message if isinstance(error, SelfplayError) else f"{type(error).__name__}: {error}"
        outcome = InjectorOutcome("failed", why, time.monotonic() - started)
        return _without_end(injector_of(run), number, Finish.POLICY_ERROR, outcome)


def _unplayed(job: Injection, error: SelfplayError) -> InjectorRollout:
    """The rollout of an episode that is set aside. One that hit a limit of its sandbox again counts as failed."""
    injector, number = job
    if isinstance(error, EpisodeLost) and error.cause is Cause.LIMIT:
        failed = InjectorOutcome("failed", error.message, error.trajectory.seconds)
        return Rollout(replace(error.trajectory, finish=Finish.OVER_LIMITS), injector.key(number), failed)
    return _without_end(injector, number, Finish.UNPLAYED, InjectorOutcome("unplayed", error.message, 0.0))


def _without_end(injector: Injector, number: int, finish: Finish, outcome: InjectorOutcome) -> InjectorRollout:
    """The rollout of an episode with only a reason."""
    nothing = Trajectory("injector", injector.player, finish, error=outcome.reason)
    return Rollout(nothing, injector.key(number), outcome)
