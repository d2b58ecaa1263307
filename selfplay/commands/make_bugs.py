"""The curriculum loop on one machine: episodes on a stage, results stored as they come, until there are enough.

Every wait ends: episodes and checks have time limits, a run of episodes without a new bug stops the loop with a
reason, and so does a run of sandboxes that cannot be started. Ctrl-C and a kill leave a folder that resumes.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial

from selfplay.agent import Finish
from selfplay.curriculum import Curriculum, EpisodeResult, Progress
from selfplay.rollout.injection import Injection, inject, strategy_of
from selfplay.rollout.parallel import LOST_SANDBOXES, RolloutError
from selfplay.rollout.stage import Stage, stage_for
from selfplay.sandbox import SandboxError
from selfplay.sandbox.workers import Workers

log = logging.getLogger(__name__)


UNANSWERED = 8
"""Episodes in a row that end because the model fails after which the run stops."""
Watch = Callable[[Progress], None]


def make_bugs(run: Injection, pool: Curriculum, wanted: int, workers: int, watch: Watch, patience: int) -> str:
    """Play episodes until the pool holds `wanted` bugs. Returns why it stopped.

    After `patience` episodes in a row without a new bug the repository, or the policy, has no more to give.

    Raises `RolloutError` when sandboxes cannot be started, `KeyboardInterrupt` after the running episodes' results
    that were there are stored.
    """
    pool.take(wanted, patience)
    run.seen.update(pool.tree_keys())
    loop = _Loop(run, pool, wanted, watch, patience)
    with stage_for(run.player, workers) as stage:
        try:
            return loop.until_done(stage)
        except BaseException:
            stage.abandon()
            run.backend.close()  # what still runs loses its sandbox and ends; its episodes are played again
            raise


class _Loop:
    def __init__(self, run: Injection, pool: Curriculum, wanted: int, watch: Watch, patience: int) -> None:
        self.run, self.pool, self.wanted, self.watch, self.patience = run, pool, wanted, watch, patience
        self.done = pool.finished()
        self.next_number = 0
        self.lost = self.unanswered = 0

    def until_done(self, stage: Stage) -> str:
        running: dict[Future[EpisodeResult], int] = {}
        while True:
            reason = self._enough()
            if reason:
                return self._drain(running, reason)
            while len(running) < stage.places and self._may_be_short(len(running)):
                number = self._next()
                running[stage.start(partial(self._episode, number))] = number
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                del running[future]
                self._store(future.result())

    def _may_be_short(self, running: int) -> bool:
        """Whether the bugs at hand and the episodes that run could still be too few: one more would else be waste."""
        return self.pool.count() + self.pool.waiting() + running < self.wanted or running == 0

    async def _episode(self, number: int, workers: Workers) -> EpisodeResult:
        started = time.monotonic()
        strategy = strategy_of(self.run.strategy, self.run.seed, number)
        try:
            return await inject(self.run, number, workers)
        except SandboxError as error:
            reason, status = str(error), "lost"
        except Exception as error:  # one bad episode never ends a run
            log.exception("episode %d failed", number)
            reason, status = f"{type(error).__name__}: {error}", "failed"
        return EpisodeResult(number, strategy, status, reason, {"seconds": time.monotonic() - started})

    def _next(self) -> int:
        while self.next_number in self.done:
            self.next_number += 1
        self.done.add(self.next_number)
        return self.next_number

    def _store(self, result: EpisodeResult) -> None:
        if result.status == "lost":
            self._play_again(result)
            return
        self.lost = 0
        self.pool.stage(result)
        taken = tuple(self.pool.take(self.wanted, self.patience))
        self.run.seen.update(self.pool.tree_keys())
        self.watch(Progress(self.pool.count(), self.wanted, result, taken))
        self._refuse_dead_model(result)

    def _refuse_dead_model(self, result: EpisodeResult) -> None:
        """An endpoint that went down must not use up a run's patience."""
        failed = self.run.player.is_model and result.figures.get("finish") == Finish.POLICY_ERROR
        self.unanswered = self.unanswered + 1 if failed else 0
        if self.unanswered >= UNANSWERED:
            raise RolloutError(
                f"the model failed in {self.unanswered} episodes in a row: {result.reason}", "The run can be resumed."
            )

    def _play_again(self, result: EpisodeResult) -> None:
        """An episode whose sandbox failed says nothing of the repository: it is played again, a few times."""
        self.lost += 1
        if self.lost >= LOST_SANDBOXES:
            raise RolloutError(f"{self.lost} sandboxes in a row failed: {result.reason}", "The run can be resumed.")
        self.done.discard(result.number)
        self.next_number = min(self.next_number, result.number)

    def _enough(self) -> str:
        if self.pool.count() >= self.wanted:
            return "enough bugs"
        if self.pool.fruitless() >= self.patience:
            return f"the last {self.patience} episodes gave no new bug"
        return ""

    def _drain(self, running: dict[Future[EpisodeResult], int], reason: str) -> str:
        """Store what is still running: a later run with more bugs starts from it."""
        for future in running:
            future.cancel()
        for result in [future.result() for future in running if not future.cancelled()]:
            if result.status != "lost":
                self.pool.stage(result)
        return reason
