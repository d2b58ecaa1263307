"""Turns failed attempts of a run into second-order bugs, and stores each result."""

import contextlib
from collections import defaultdict
from collections.abc import Sequence

from selfplay.curriculum import Curriculum
from selfplay.curriculum.records import Promotion
from selfplay.errors import SelfplayError
from selfplay.formatting import Say, count
from selfplay.rollout.promotion import Looked, promote
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.retries import Retries
from selfplay.rollout.scheduler import in_leases
from selfplay.rollout.solver import SolverRun
from selfplay.sandbox import Backend


async def promoted(run: SolverRun, pool: Curriculum, bugs: Sequence[ReadyBug], per_parent: int, say: Say) -> None:
    """Make second-order bugs of the failed attempts stored for `bugs`, and store the result for each attempt."""
    known, considered = pool.attempts.trees(), pool.attempts.considered()
    failed = defaultdict(list)
    for attempt in sorted(pool.attempts.all(), key=lambda attempt: (attempt.number, attempt.policy)):
        if not attempt.resolved and (attempt.bug, attempt.policy, attempt.number) not in considered:
            failed[attempt.bug].append(attempt)
    room = {ready.bug.id: per_parent - pool.attempts.children(ready.bug.id) for ready in bugs}
    jobs = [ready for ready in bugs if ready.bug.order == 1 and failed[ready.bug.id] and room[ready.bug.id] > 0]

    def work(ready: ReadyBug, backend: Backend) -> Looked:
        most = room[ready.bug.id]
        return promote(ready, failed[ready.bug.id], most, known, run.prepared, backend, unauditable=run.unauditable)

    def unplayed(ready: ReadyBug, error: SelfplayError) -> Looked:
        say(f"could not be played: second-order bugs of {ready.bug.id}: {error.message}")
        return []

    losses: Retries[ReadyBug, Looked] = Retries(unplayed, played_again=pool.lost.count_again)
    async with contextlib.aclosing(in_leases(jobs, work, run.seats, run.workers, run.limits, losses)) as results:
        async for ready, found in results:
            for promotion, diff in found:
                pool.attempts.add_promotion(promotion, ready.artifact, diff)
                say(_sentence(promotion))


def _sentence(promotion: Promotion) -> str:
    if promotion.bug:
        return f"{promotion.bug.id}: second order, {count(len(promotion.bug.fail_to_pass), 'test fails', 'tests fail')}"
    return f"{promotion.parent} {promotion.policy} {promotion.number} is not a second-order bug: {promotion.status}"
