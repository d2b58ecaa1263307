"""The curriculum loop: injector episodes, results stored as they finish, until there are enough bugs.

Every wait ends: episodes and checks have time limits. The loop stops with a reason after too many episodes without a
new bug, and when sandboxes or model answers keep failing. After Ctrl-C or a kill the folder can be resumed. An episode
that could not be played is stored as such, so that later ones are not held up.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from selfplay.artifact import Bug
from selfplay.commands.cost import CostMeter
from selfplay.commands.injections import Injection, Injector, stored_injections
from selfplay.curriculum import Curriculum, EpisodeRecord, RunProgress
from selfplay.curriculum.ends import told_of
from selfplay.formatting import count
from selfplay.rollout.players import SCRIPTED
from selfplay.rollout.retries import IdleCheck
from selfplay.scripted.injector.attempt_loop import same_end

SAME_END = 8
"""The loop stops if no bug was ever made and this many episodes in a row end for the same reason."""
Watch = Callable[[RunProgress], None]


@dataclass(frozen=True)
class BugsWanted:
    """Stop at `bugs` in the pool, after `patience` episodes in a row without a new one, or when `minutes` have passed
    (None: no limit): what is played then comes to its end. `strategies`: those that the episodes have."""

    bugs: int
    patience: int
    strategies: tuple[str, ...] = ()
    minutes: float | None = None


async def make_bugs(
    injector: Injector,
    pool: Curriculum,
    wanted: BugsWanted,
    places: int,
    watch: Watch,
    meter: CostMeter,
    idle_check: IdleCheck | None,
) -> str:
    """Play episodes until the pool holds enough bugs. Returns why it stopped. `idle_check`: as for `stored_injections`.

    Raises `RolloutError` if sandboxes or the model keep failing.
    """
    loop = _Loop(injector, pool, wanted)
    loop.take()
    async with aclosing(stored_injections(pool, loop.next_job, places, idle_check)) as records:
        async for record in records:
            taken = loop.take()
            meter.tick()
            watch(RunProgress(pool.episodes.count(injector.repository), wanted.bugs, record, tuple(taken)))
            loop.count(record, taken)
    return loop.reason()


def _with_commonest(said: str, records: Sequence[EpisodeRecord]) -> str:
    """Why a run stopped, with the commonest reason of the episodes that gave nothing."""
    common = told_of(records)
    return f"{said}; the commonest reason: {common}" if common else said


class _Loop:
    def __init__(self, injector: Injector, pool: Curriculum, wanted: BugsWanted) -> None:
        self.injector, self.pool, self.wanted = injector, pool, wanted
        self.begun = pool.episodes.finished(injector.repository)
        self.number = 0
        self.same: dict[str, list[str]] = {strategy: [] for strategy in wanted.strategies}
        self.vain = 0
        self.deadline = math.inf if wanted.minutes is None else time.monotonic() + 60 * wanted.minutes

    def take(self) -> list[Bug]:
        """Move the stored bugs that can be taken into the pool, and return them."""
        return self.pool.episodes.take(self.wanted.bugs, self.wanted.patience, repository=self.injector.repository)

    def next_job(self, running: int) -> Injection | None:
        """The next episode, in the form of `stored_injections`."""
        number = self.next_number(running)
        return None if number is None else (self.injector, number)

    def next_number(self, running: int) -> int | None:
        """The next episode; None while the bugs in the pool and the running episodes may be enough."""
        episodes, name = self.pool.episodes, self.injector.repository
        at_hand = episodes.count(name) + episodes.waiting(name) + running
        if self.reason() or (running and at_hand >= self.wanted.bugs):
            return None
        while self.number in self.begun:
            self.number += 1
        self.begun.add(self.number)
        return self.number

    def count(self, record: EpisodeRecord, taken: Sequence[Bug]) -> None:
        """Count the episodes since the pool last grew, and keep a script's last reasons while they are all the same:
        its next try would end the same way."""
        self.vain = 0 if taken else self.vain + 1
        if self.injector.player not in SCRIPTED:
            return  # a model may do better: `patience` says how often it is tried
        before = self.same.get(record.strategy, [])
        alike = not before or same_end(before[-1]) == same_end(record.reason)
        self.same[record.strategy] = [*before, record.reason] if alike else [record.reason]

    def reason(self) -> str:
        """Why no further episode is played; empty if one is.

        `vain` counts finished episodes whether taken or not, so the loop ends on any state of a pool. It waits for a
        running episode that others wait behind, which may give a bug."""
        episodes, name = self.pool.episodes, self.injector.repository
        if episodes.count(name) >= self.wanted.bugs:
            return "enough bugs"
        if time.monotonic() >= self.deadline:
            return _with_commonest(f"{self.wanted.minutes:g} minutes have passed", episodes.records(name))
        if max(episodes.fruitless(name), self.vain) >= self.wanted.patience:
            said = f"the last {count(self.wanted.patience, 'episode')} gave no new bug"
            return _with_commonest(said, episodes.records(name)[-self.wanted.patience :])
        if not episodes.count(name) + episodes.waiting(name):
            return self._same_ends()
        return ""

    def _same_ends(self) -> str:
        """How every strategy ended again and again; empty while one did not."""
        if not self.same or not all(len(ends) >= SAME_END and ends[-1] for ends in self.same.values()):
            return ""
        same = self.same.items()
        ends = [f"{count(len(ends), 'episode')} of {name} all ended with: {ends[-1]}" for name, ends in same]
        return f"the last {'; the last '.join(ends)}"
