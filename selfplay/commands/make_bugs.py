"""The curriculum loop: injector episodes, results stored as they come, until there are enough bugs.

Every wait ends: episodes and checks have time limits, a run of episodes without a new bug stops the loop with a
reason, and so does a run of sandboxes or answers that cannot be had. Ctrl-C and a kill leave a folder that resumes.
"""

import logging
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from selfplay.agent import Trajectory
from selfplay.agent.actions import Finish
from selfplay.artifact import Bug
from selfplay.commands.cost import Meter
from selfplay.commands.storing import store_episode
from selfplay.curriculum import Curriculum, EpisodeRecord, Progress
from selfplay.rollout.injector import InjectorRun, injector_rollout, strategy_of
from selfplay.rollout.many import ModelDown, many
from selfplay.rollout.rollout import InjectorKey, InjectorOutcome, InjectorRollout, Rollout
from selfplay.sandbox import SandboxError

log = logging.getLogger(__name__)

SAME_END = 8
"""Episodes in a row, with no bug ever made, that end for the same reason: more of them would, too."""
Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Wanted:
    """`bugs` in the pool, after `patience` episodes in a row without a new one no more."""

    bugs: int
    patience: int


async def make_bugs(run: InjectorRun, pool: Curriculum, wanted: Wanted, places: int, watch: Watch, meter: Meter) -> str:
    """Play episodes until the pool holds enough bugs. Returns why it stopped.

    Raises `RolloutError` when sandboxes or the model keep failing.
    """
    loop = _Loop(run, pool, wanted)
    loop.take()
    async with aclosing(many(loop.next_number, loop.play, places)) as rollouts:
        async for _, rollout in rollouts:
            record = store_episode(pool, rollout)
            taken = loop.take()
            meter.lap("bugs")
            watch(Progress(pool.episodes.count(run.repository), wanted.bugs, record, tuple(taken)))
            loop.count(record)
    return loop.reason()


class _Loop:
    def __init__(self, run: InjectorRun, pool: Curriculum, wanted: Wanted) -> None:
        self.run, self.pool, self.wanted = run, pool, wanted
        self.begun = pool.episodes.finished(run.repository)
        self.number = 0
        self.same: list[str] = []

    def take(self) -> list[Bug]:
        """The bugs that can be taken now."""
        return self.pool.episodes.take(self.wanted.bugs, self.wanted.patience, repository=self.run.repository)

    def next_number(self, running: int) -> int | None:
        """The next episode; None while the bugs at hand and the episodes that run could be enough."""
        episodes, name = self.pool.episodes, self.run.repository
        at_hand = episodes.count(name) + episodes.waiting(name) + running
        if self.reason() or (running and at_hand >= self.wanted.bugs):
            return None
        while self.number in self.begun:
            self.number += 1
        self.begun.add(self.number)
        return self.number

    async def play(self, number: int) -> InjectorRollout:
        """The rollout of the episode; what nobody foresaw ends this one episode."""
        started = time.monotonic()
        try:
            return await injector_rollout(self.run, number)
        except (SandboxError, ModelDown):
            raise
        except Exception as error:
            log.exception("episode %d failed", number)
            why = f"{type(error).__name__}: {error}"
            strategy = strategy_of(self.run.strategy, self.run.origin.seed, number)
            key = InjectorKey(self.run.repository, strategy, self.run.origin.seed, number)
            lost = Trajectory("injector", self.run.player.name, Finish.POLICY_ERROR, error=why)
            return Rollout(lost, key, InjectorOutcome("failed", why, time.monotonic() - started))

    def count(self, record: EpisodeRecord) -> None:
        """Keep the reasons of the last episodes, as long as they are the same."""
        self.same = [*self.same, record.reason] if self.same[-1:] in ([], [record.reason]) else [record.reason]

    def reason(self) -> str:
        """Why no further episode is played; empty when one is."""
        episodes, name = self.pool.episodes, self.run.repository
        if episodes.count(name) >= self.wanted.bugs:
            return "enough bugs"
        if episodes.fruitless(name) >= self.wanted.patience:
            return f"the last {self.wanted.patience} episodes gave no new bug"
        if len(self.same) >= SAME_END and self.same[0] and not episodes.count(name) + episodes.waiting(name):
            return f"the last {len(self.same)} episodes all ended with: {self.same[0]}"
        return ""
