"""Attempts at bugs, stored as they finish. They come from a player, or from a control, which has no episode."""

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from selfplay.agent import Trajectory
from selfplay.agent.actions import Finish
from selfplay.agent.episode import EpisodeLost
from selfplay.commands.storing import store_attempt, store_control
from selfplay.curriculum import Attempt, Curriculum
from selfplay.curriculum.lost import attempt_job_name
from selfplay.errors import SelfplayError
from selfplay.formatting import Say, count
from selfplay.oracle.errors import OracleError, WorldError
from selfplay.oracle.reasons import OVER_LIMITS, UNPLAYED
from selfplay.rollout.controls import Control, play_control
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.retries import Retries, idle_check_in
from selfplay.rollout.rollout import Rollout, SolverKey, SolverOutcome, SolverRollout
from selfplay.rollout.scheduler import ModelDown, RolloutError, many
from selfplay.rollout.solver import SolverRun, calibrated, grader_of, solver_outcome, solver_rollout
from selfplay.sandbox import Cause, InsideError, SandboxError
from selfplay.sandbox.errors import as_lost

log = logging.getLogger(__name__)

MOST_UNPLAYED = 8
"""The run stops after this many bugs in a row at which no attempt can be played."""
Job = tuple[ReadyBug, int]


@dataclass(frozen=True)
class SetAside:
    """An attempt that itself causes the loss of its sandbox, and why: it is not tried again."""

    why: str


class NotGradable(str):
    """Why no attempt at a bug can be graded: that is the bug's own doing, and says nothing about others."""


Finished = SolverRollout | tuple[SolverKey, SolverOutcome]
"""A solver's attempt, or a control's."""
Played = Finished | SetAside | str
"""An attempt, or why it could not be played, now or ever."""


def missing(run: SolverRun, pool: Curriculum, bugs: Sequence[ReadyBug], attempts: int) -> list[Job]:
    """The attempts that are neither stored nor set aside yet, bug by bug."""
    by_id = {ready.bug.id: ready for ready in bugs}
    return [(by_id[bug], number) for bug, number in unfinished(pool, run.policy, by_id, attempts)]


def unfinished(pool: Curriculum, policy: str, bugs: Iterable[str], attempts: int) -> list[tuple[str, int]]:
    """(bug, number) of the attempts at these bugs that are neither stored nor set aside yet, bug by bug."""
    done, aside = pool.attempts.finished(policy), pool.lost.unplayed()
    return [
        (bug, number)
        for bug in bugs
        for number in range(attempts)
        if (bug, number) not in done and attempt_job_name(bug, policy, number) not in aside
    ]


Solve = Callable[[ReadyBug, int], Awaitable[Finished]]
"""Makes the attempt of a number at a bug."""


@dataclass(frozen=True)
class AttemptPlay:
    """How attempts are played, `places` at a time. `control`: makes them itself. `solve`: makes them otherwise; without
    both, the run's player does, in this process. `elsewhere`: on other machines, about which an idle sandbox here says
    nothing."""

    places: int
    control: Control | None = None
    solve: Solve | None = None
    elsewhere: bool = False


async def play_attempts(
    run: SolverRun,
    pool: Curriculum,
    jobs: Sequence[Job],
    how: AttemptPlay,
    told: Callable[[Attempt], None],
    say: Say,
) -> dict[tuple[str, int], str]:
    """Play the attempts and store each one. Returns (bug, number) -> why, for those that could not be played.

    An attempt that could not be played (a full disk, a bug whose original fails its tests) is reported and not counted:
    running the same command again plays it, unless it is set aside.

    Raises `RolloutError` if sandboxes or the model keep failing, or if too many bugs in a row cannot be attempted.
    """

    async def play(job: Job) -> Played:
        return await _or_why_not(how.solve(*job) if how.solve else _played(run, how.control, *job), *job)

    def unplayed(job: Job, error: SelfplayError) -> Played:
        return _unplayed(run, *job, error)

    failed: dict[str, str] = {}
    faulty: dict[str, str] = {}
    why: dict[tuple[str, int], str] = {}
    idle_check = None if how.elsewhere else idle_check_in(run.seats, run.workers)
    losses = Retries(unplayed, idle_check, pool.lost.count_again)
    async with aclosing(many(_passing_over(jobs, failed, faulty), play, how.places, losses)) as attempts:
        async for (ready, number), found in attempts:
            if isinstance(found, SetAside):
                why[ready.bug.id, number] = found.why
                pool.lost.set_aside(attempt_job_name(ready.bug.id, run.policy, number), found.why)
                say(f"could not be played: {ready.bug.id} {run.policy} {number}: {found.why}")
                continue
            if isinstance(found, NotGradable):
                say(f"{ready.bug.id} is not attempted: {found}")
                faulty[ready.bug.id] = why[ready.bug.id, number] = found
                continue
            if not isinstance(found, str):
                told(_stored(pool, found))
                failed.clear()
                continue
            say(f"{ready.bug.id} {run.policy} {number} could not be played and is not counted: {found}")
            failed[ready.bug.id] = why[ready.bug.id, number] = found
            if len(failed) >= MOST_UNPLAYED:
                raise RolloutError(
                    f"attempts at {count(len(failed), 'bug')} could not be played", "The same command resumes."
                )
    return why


def lost_attempt(run: SolverRun, bug: str, number: int, why: str) -> SolverRollout:
    """An attempt that the machine lost, with only the reason; credit counts it as lost."""
    trajectory = Trajectory("solver", run.player.name, Finish.UNPLAYED, error=why)
    key = SolverKey(bug, run.policy, run.seed, number)
    return Rollout(trajectory, key, SolverOutcome(False, UNPLAYED, why, "", 0.0))


async def _or_why_not(playing: Awaitable[Played], ready: ReadyBug, number: int) -> Played:
    """The played attempt, or the internal error by which it failed."""
    try:
        return await playing
    except (SandboxError, InsideError, ModelDown, RolloutError):
        raise
    except (OracleError, WorldError) as error:
        return NotGradable(error.message)
    except Exception as error:
        if lost := as_lost(error, "an attempt could not be played"):
            raise lost from error
        log.warning("attempt %d at %s could not be played", number, ready.bug.id, exc_info=True)
        return str(error) if isinstance(error, SelfplayError) else f"{type(error).__name__}: {error}"


def _unplayed(run: SolverRun, ready: ReadyBug, number: int, error: SelfplayError) -> Played:
    """The result of an attempt that is set aside. One that hit a limit of its sandbox again is not resolved."""
    if not isinstance(error, EpisodeLost) or error.cause is not Cause.LIMIT:
        return SetAside(error.message)
    outcome = SolverOutcome(False, OVER_LIMITS, error.message, "", error.trajectory.seconds)
    ended = replace(error.trajectory, finish=Finish.OVER_LIMITS)
    return Rollout(ended, SolverKey(ready.bug.id, run.policy, run.seed, number), outcome)


def _stored(pool: Curriculum, found: Finished) -> Attempt:
    return store_control(pool, *found) if isinstance(found, tuple) else store_attempt(pool, found)


def _passing_over(jobs: Sequence[Job], *bugs: Mapping[str, str]) -> Callable[[int], Job | None]:
    """The jobs in order, skipping those at one of these bugs."""
    rest: Iterator[Job] = (job for job in jobs if not any(job[0].bug.id in known for known in bugs))
    return lambda running: next(rest, None)


async def _played(run: SolverRun, control: Control | None, ready: ReadyBug, number: int) -> Played:
    if control is None:
        return await solver_rollout(run, ready, number)
    started = time.monotonic()
    async with run.seats.lease(run.limits) as lease:
        grader = grader_of(run, ready, await calibrated(run, ready, lease))
        diff, grade = await run.workers.run(play_control, control, lease, ready.task, grader, run.limits)
    key = SolverKey(ready.bug.id, run.policy, run.seed, number)
    return key, solver_outcome(grade, diff, time.monotonic() - started)
