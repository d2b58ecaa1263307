"""What a run does about lost sandboxes: its rules and counters.

A lost sandbox (`SandboxLost`: it died, or does not answer any more) says nothing about what ran in it. So:

1. The job is played again from its start, with the same seed; nothing of the lost try is cached or stored. 2. Jobs that
lose their sandboxes within `TOGETHER` seconds are one loss: a dying launcher or engine takes all its sandboxes along.
3. After a second loss in a row, without a finished job in between, nothing is started for a while, and longer after
each further loss: an engine may be restarting. `LOST_SANDBOXES` losses in a row end the run with the reason; what was
stored stays. 4. A job that was lost `TRIES` times is then played alone. After each such loss an idle sandbox must live
`IDLE_TIMES` times as long: if it is lost too, something on this machine kills processes, and the job is not to blame. A
job that is lost `ALONE` times in a row while the idle sandboxes live is to blame itself. It is set aside: named,
counted as not playable, and not tried again by a resumed run. This becomes final only once another job has finished or
none is left: if `SET_ASIDE` jobs in a row would be set aside, the machine is to blame, the run ends, and the next run
tries them all again. 5. A job that hits a limit of its sandbox twice is to blame itself at once: that is a verdict, and
counts neither as a loss nor as a job set aside. So is a script that is killed at every try while an idle program lives
on (`workbench/running.py`). 6. A sandbox that cannot be started (`WorldRefused`) counts as a lost one, and so
does what this machine has too little of (`MachineError`), but for that no job is ever set aside. What failed through
what is in its sandbox (`InsideError`) is the job's own fault: it is set aside at once. 7. What runs outside the loop
(preparing a repository, its measurement, the survey, one grade) is done again by `sandbox/retry.py`.

A model that does not answer is treated alike, but no job is set aside for it: `UNANSWERED` failures in a row end the
run.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from selfplay.errors import SelfplayError
from selfplay.formatting import count
from selfplay.sandbox import Cause, InsideError, MachineError, SandboxError, SandboxLost, World
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.errors import RESUMES
from selfplay.sandbox.retry import LIMITS, LOST_SANDBOXES, pause_after
from selfplay.sandbox.workers import Workers

J = TypeVar("J")
R = TypeVar("R")
UNANSWERED = 8
"""Jobs in a row whose model did not answer, after which the run ends."""
TRIES, ALONE = 4, 5
"""Losses of one job after which it is played alone, and further losses alone after which it is set aside."""
TOGETHER = 5.0
"""Seconds: the sandboxes of a launcher die at once, but their users notice one after the other."""
SET_ASIDE = 8
"""Jobs in a row that could not be played."""
IDLE_TIMES, LEAST_IDLE, LONGEST_IDLE = 2.0, 2.0, 60.0
"""How many times as long as the lost job an idle sandbox must live, to show that sandboxes can; in
seconds, the least and the longest."""
IdleCheck = Callable[[float], Awaitable[None]]
"""Lets an idle sandbox live for this many seconds."""


class RolloutError(SelfplayError):
    """The loop cannot continue."""


class ModelDown(SelfplayError):
    """The model ended an episode by not answering."""


@dataclass
class JobState(Generic[J]):
    """A job, how often it was lost, and how often in a row while it played alone and an idle sandbox lived. `since`:
    when it was last started; `began`: the run's number of losses at that moment."""

    job: J
    lost: int = 0
    lost_alone: int = 0
    limits: int = 0
    began: int = 0
    since: float = field(default_factory=time.monotonic)

    @property
    def alone(self) -> bool:
        """Whether the job must be played alone."""
        return self.lost >= TRIES


@dataclass
class Retries(Generic[J, R]):
    """The losses of one loop.

    `unplayed`: makes the result of a job that is set aside, from the job and its last error; None if that ends the
    loop. `idle_check`: lets an idle sandbox live for the given seconds. `played_again`: called for every job that is
    played again after a lost sandbox.
    """

    unplayed: Callable[[J, SelfplayError], R] | None = None
    idle_check: IdleCheck | None = None
    played_again: Callable[[SelfplayError], None] = lambda error: None
    _seen: int = 0
    _row: int = 0
    _when: float = 0.0
    _unanswered: int = 0
    _aside: list[tuple[J, R]] = field(default_factory=list)
    _ready: float = 0.0

    def begin(self, entry: JobState[J]) -> None:
        """Note that the job is started."""
        entry.began, entry.since = self._seen, time.monotonic()

    def hold(self) -> float:
        """Seconds for which no job may be started."""
        return max(0.0, self._ready - time.monotonic())

    def finish(self) -> None:
        """Note that a job finished."""
        self._row, self._unanswered, self._ready = 0, 0, 0.0

    def believed(self) -> list[tuple[J, R]]:
        """The jobs that are finally set aside, with their results; called when a job finished or none is left."""
        aside, self._aside = self._aside, []
        return aside

    def own_fault(self, entry: JobState[J], error: InsideError | SandboxLost) -> R:
        """The result of a job that failed through what is in its sandbox. Raises the error where there is none."""
        if self.unplayed is None:
            raise error
        return self.unplayed(entry.job, error)

    def met_limits(self, entry: JobState[J], error: Exception) -> bool:
        """Count a limit that the job met; returns whether it met one again, so that it is to blame itself."""
        entry.limits += is_limit(error)
        return is_limit(error) and entry.limits >= LIMITS

    async def failed(self, entry: JobState[J], error: SandboxError | ModelDown) -> bool:
        """Count a failure; returns whether to play the job again. Raises `RolloutError` after too many."""
        if isinstance(error, ModelDown):
            self._unanswered += 1
            if self._unanswered >= UNANSWERED:
                said = f"the model failed in {count(self._unanswered, 'episode')} in a row: {error.message}"
                raise RolloutError(said, RESUMES) from error
            return True
        if self.unplayed is not None and await self._by_itself(entry, error):
            self._aside.append((entry.job, self.unplayed(entry.job, error)))
            if len(self._aside) >= SET_ASIDE:
                said = f"{count(len(self._aside), 'job')} in a row could not be played: {error.message}"
                raise RolloutError(said, error.hint or RESUMES) from error
            return False
        if not is_limit(error):
            self._count(entry, error)
        self.played_again(error)
        return True

    def _count(self, entry: JobState[J], error: SandboxError) -> None:
        now = time.monotonic()
        if entry.began < self._seen and now - self._when < TOGETHER:
            return
        self._when = now
        self._seen += 1
        self._row += 1
        self._ready = now + pause_after(self._row)
        if self._row >= LOST_SANDBOXES:
            raise RolloutError(
                f"{count(self._row, 'sandbox', 'sandboxes')} in a row failed: {error.message}", error.hint or RESUMES
            ) from error

    async def _by_itself(self, entry: JobState[J], error: SandboxError) -> bool:
        """Whether the job causes its losses."""
        if isinstance(error, MachineError) or is_limit(error):
            return False
        alone = entry.alone
        entry.lost += 1
        if not alone:
            return False
        lives = await self._lives(IDLE_TIMES * (time.monotonic() - entry.since))
        entry.lost_alone = entry.lost_alone + 1 if lives else 0
        return entry.lost_alone >= ALONE

    async def _lives(self, seconds: float) -> bool:
        """Whether an idle sandbox lives that long."""
        if self.idle_check is None:
            return False
        try:
            await self.idle_check(min(max(seconds, LEAST_IDLE), LONGEST_IDLE))
        except (SandboxError, InsideError):
            return False
        self._row = 0
        return True


def is_limit(error: Exception) -> bool:
    """Whether the sandbox was lost since what ran in it met a limit."""
    return isinstance(error, SandboxLost) and error.cause is Cause.LIMIT


def idle_check_in(seats: SandboxPool, workers: Workers) -> IdleCheck:
    """The idle check of a loop that plays in these seats. It raises `SandboxError` if its sandbox is lost."""

    async def play(seconds: float) -> None:
        async with seats.lease() as lease, workers.entered(lease.open(World())) as sandbox:
            done = await workers.run(sandbox.run, ["sleep", f"{seconds:.2f}"], timeout=seconds + LONGEST_IDLE)
            if done.exit_code:
                raise SandboxLost(
                    "an idle program was killed too: something on this machine kills processes", cause=Cause.OUTSIDE
                )

    return play
