"""The curriculum loop: injector episodes, results stored as they finish, until there are enough bugs.

Every wait ends: episodes and checks have time limits. The loop stops with a reason after too many episodes without a
new bug, and when sandboxes or model answers keep failing. After Ctrl-C or a kill the folder can be resumed.
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
from selfplay.rollout.injector import InjectorRun, injector_key, injector_rollout
from selfplay.rollout.many import ModelDown, many
from selfplay.rollout.players import SCRIPTED
from selfplay.rollout.rollout import InjectorOutcome, InjectorRollout, Rollout
from selfplay.sandbox import SandboxError

log = logging.getLogger(__name__)

SAME_END = 8
"""When no bug was ever made and so many episodes in a row end for the same reason, the loop stops."""
Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Wanted:
    """Stop at `bugs` in the pool, or after `patience` episodes in a row without a new one."""

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
            meter.tick()
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
        """Move staged bugs that can be taken into the pool, and return them."""
        return self.pool.episodes.take(self.wanted.bugs, self.wanted.patience, repository=self.run.repository)

    def next_number(self, running: int) -> int | None:
        """The next episode; None while the bugs in the pool and the running episodes may be enough."""
        episodes, name = self.pool.episodes, self.run.repository
        at_hand = episodes.count(name) + episodes.waiting(name) + running
        if self.reason() or (running and at_hand >= self.wanted.bugs):
            return None
        while self.number in self.begun:
            self.number += 1
        self.begun.add(self.number)
        return self.number

    async def play(self, number: int) -> InjectorRollout:
        """The rollout of the episode; an unexpected error ends only this episode."""
        started = time.monotonic()
        try:
            return await injector_rollout(self.run, number)
        except (SandboxError, ModelDown):
            raise
        except Exception as error:
            log.exception("episode %d failed", number)
            why = f"{type(error).__name__}: {error}"
            key = injector_key(self.run, number)
            lost = Trajectory("injector", self.run.player.name, Finish.POLICY_ERROR, error=why)
            return Rollout(lost, key, InjectorOutcome("failed", why, time.monotonic() - started))

    def count(self, record: EpisodeRecord) -> None:
        """Keep the reasons of a script's last episodes while they are all the same: its next try will end so, too."""
        if self.run.player.name not in SCRIPTED:
            return  # a model may do better: `patience` says how often it is tried
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
