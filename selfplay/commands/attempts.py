"""Attempts at bugs, stored as they finish. A player makes them, or a control, which has no episode."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing

from selfplay.commands.storing import store_attempt, store_control
from selfplay.curriculum import Attempt, Curriculum
from selfplay.errors import SelfplayError
from selfplay.rollout.controls import Control, play_control
from selfplay.rollout.many import ModelDown, RolloutError, many
from selfplay.rollout.rollout import SolverKey, SolverOutcome, SolverRollout
from selfplay.rollout.solver import ReadyBug, SolverRun, calibrated, grader_of, solver_outcome, solver_rollout
from selfplay.sandbox import SandboxError

log = logging.getLogger(__name__)

UNPLAYED = 8
"""The run stops after this many bugs in a row at which no attempt can be played."""
Job = tuple[ReadyBug, int]
Played = SolverRollout | tuple[SolverKey, SolverOutcome] | str
"""A solver's attempt, a control's attempt, or why it could not be played."""


def missing(run: SolverRun, pool: Curriculum, bugs: Sequence[ReadyBug], attempts: int) -> list[Job]:
    """The attempts that are not stored yet, bug by bug."""
    done = pool.attempts.finished(run.policy)
    return [(ready, number) for ready in bugs for number in range(attempts) if (ready.bug.id, number) not in done]


async def play_attempts(
    run: SolverRun,
    control: Control | None,
    pool: Curriculum,
    jobs: Sequence[Job],
    places: int,
    told: Callable[[Attempt], None],
    say: Callable[[str], None],
) -> None:
    """Play the attempts and store each one. An attempt that could not be played (a full disk, a bug whose original
    fails its tests) is reported and not counted: running the same command again plays it.

    Raises `RolloutError` when sandboxes or the model keep failing, or when too many bugs in a row cannot be attempted.
    """

    async def play(job: Job) -> Played:
        try:
            return await _played(run, control, *job)
        except (SandboxError, ModelDown):
            raise
        except Exception as error:
            log.warning("attempt %d at %s could not be played", job[1], job[0].bug.id, exc_info=True)
            return str(error) if isinstance(error, SelfplayError) else f"{type(error).__name__}: {error}"

    failed: dict[str, str] = {}
    async with aclosing(many(_passing_over(jobs, failed), play, places)) as attempts:
        async for (ready, number), found in attempts:
            if not isinstance(found, str):
                told(_stored(pool, found))
                failed.clear()
                continue
            say(f"{ready.bug.id} {run.policy} {number} could not be played and is not counted: {found}")
            failed[ready.bug.id] = found
            if len(failed) >= UNPLAYED:
                raise RolloutError(f"attempts at {len(failed)} bugs could not be played", "The same command resumes.")


def _stored(pool: Curriculum, found: SolverRollout | tuple[SolverKey, SolverOutcome]) -> Attempt:
    return store_control(pool, *found) if isinstance(found, tuple) else store_attempt(pool, found)


def _passing_over(jobs: Sequence[Job], failed: dict[str, str]) -> Callable[[int], Job | None]:
    """The jobs in order, skipping those at a bug that could not be attempted."""
    rest: Iterator[Job] = (job for job in jobs if job[0].bug.id not in failed)
    return lambda running: next(rest, None)


async def _played(run: SolverRun, control: Control | None, ready: ReadyBug, number: int) -> Played:
    if control is None:
        return await solver_rollout(run, ready, number)
    started = time.monotonic()
    async with run.pool.lease(run.limits) as lease:
        grader = grader_of(run, ready, await calibrated(run, ready, lease))
        diff, grade = await run.workers.run(play_control, control, lease, ready.task, grader, run.limits)
    key = SolverKey(ready.bug.id, run.policy, run.seed, number)
    return key, solver_outcome(grade, diff, time.monotonic() - started)
