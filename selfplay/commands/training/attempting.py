"""Plays the attempts of a step of training; those at a new bug begin while other injections still play."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from selfplay.commands.attempts import AttemptPlay, NotGradable, lost_attempt, play_attempts
from selfplay.commands.storing import store_attempt
from selfplay.commands.training.choice import TRAINING
from selfplay.commands.training.interfaces import AttemptableBugs, RolloutBackend, TrainWatcher
from selfplay.commands.training.opponents import Opponent
from selfplay.commands.training.unplayed import UnplayedInARow
from selfplay.curriculum import Attempt, Curriculum
from selfplay.curriculum.lost import attempt_job_name
from selfplay.loop.ledger_values import Attempted
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.rollout import SolverRollout
from selfplay.rollout.runs import RepositoryRuns

TRIES = 2
"""Tries of an attempt that fails with an internal error."""
Start = Callable[[Coroutine[Any, Any, None]], Any]
"""Starts a task that plays beside others."""


@dataclass(frozen=True)
class Attempting:
    """`plays`: the policy in training; `opponent`: plays some groups instead. `bugs`: those that can be attempted."""

    pool: Curriculum
    runs: Mapping[str, RepositoryRuns]
    plays: RolloutBackend
    bugs: AttemptableBugs
    watcher: TrainWatcher
    opponent: Opponent | None
    _unplayed: UnplayedInARow = field(default_factory=UnplayedInARow)

    async def play(self, step: int, attempts: Attempted, opposed: Set[str]) -> None:
        """Play the attempts that are not stored; the opponent plays those at `opposed` bugs. One that fails with an
        internal error is tried again. An attempt that could not be played is stored as lost, so that it is counted.
        Raises `TrainingError` if too many in a row could not be played."""
        await self.bugs.read({bug for bug, _ in attempts})

        def tell(attempt: Attempt) -> None:
            self.watcher.say(f"solver {attempt.bug} {attempt.number}: {attempt.reason}")

        plays, say, homes = self.plays, self.watcher.say, self.pool.homes()
        solving, why = next(iter(self.runs.values())).solving, dict[tuple[str, int], str]()

        async def solve(ready: ReadyBug, number: int) -> SolverRollout:
            who = self.opponent.plays if self.opponent is not None and ready.bug.id in opposed else plays
            return await who.solve(homes[ready.bug.id], ready, number, step)

        how = AttemptPlay(plays.places, solve=solve, elsewhere=plays.elsewhere)
        for _ in range(TRIES):
            why |= await play_attempts(solving, self.pool, self._playable(attempts), how, tell, say)
        aside = self.pool.lost.unplayed()
        unplayed = {
            (bug, number): why.get((bug, number))
            or aside.get(attempt_job_name(bug, TRAINING, number), "its bug could not be attempted")
            for bug, number in sorted(set(attempts) - self.pool.attempts.stored(TRAINING, attempts))
        }
        own = {job for job, reason in unplayed.items() if isinstance(reason, NotGradable)}
        self._unplayed.note({job: unplayed[job] for job in unplayed.keys() - own}, len(attempts) - len(own))
        for (bug, number), reason in unplayed.items():
            store_attempt(self.pool, lost_attempt(solving, bug, number, reason))

    def _playable(self, attempts: Attempted) -> list[tuple[ReadyBug, int]]:
        """The attempts that are neither stored nor set aside, at bugs that can be attempted."""
        done, aside = self.pool.attempts.stored(TRAINING, attempts), self.pool.lost.unplayed()
        ready = self.bugs.ready
        return [
            (ready[bug], number)
            for bug, number in attempts
            if bug in ready and (bug, number) not in done and attempt_job_name(bug, TRAINING, number) not in aside
        ]


@asynccontextmanager
async def beside() -> AsyncIterator[Start]:
    """What starts tasks that run beside the block, which ends when they have ended. The first error of a task or of the
    block is raised, and the others are cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group.create_task
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
