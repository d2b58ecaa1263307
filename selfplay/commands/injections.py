"""One injector episode of a command, whatever becomes of it: played, failed by an error of ours, or set aside."""

import logging
import time

from selfplay.agent import Trajectory
from selfplay.agent.actions import Finish
from selfplay.agent.episode import EpisodeLost
from selfplay.errors import SelfplayError
from selfplay.rollout.injector import InjectorRun, injector_key, injector_rollout
from selfplay.rollout.many import ModelDown
from selfplay.rollout.rollout import InjectorOutcome, InjectorRollout, Rollout
from selfplay.sandbox import Cause, SandboxError

log = logging.getLogger(__name__)


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
