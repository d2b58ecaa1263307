"""What `selfplay serve-env` does: serve the two roles on a repository as environments for another trainer.

Episodes are stored in the run's folder as in `selfplay train`: a valid bug can be attempted at once, and attempts count
for its injector's reward.
"""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selfplay.agent import EpisodeLimits
from selfplay.commands import cleanup
from selfplay.commands.curriculum import CurriculumWatcher, prepared_source
from selfplay.commands.event_loop import EventLoop
from selfplay.commands.order import Order, refuse_out_in_source, settings_of
from selfplay.commands.serve_run import PROMPT_EPISODES, ServedRun
from selfplay.commands.shared_run import say_if_shared
from selfplay.commands.solve import settle_attempts
from selfplay.commands.training.request import repository_runs
from selfplay.curriculum import open_curriculum
from selfplay.curriculum.summary import read_summary, summarise, write_summary
from selfplay.environments.external_policy import OUTSIDE, OutsidePlayer
from selfplay.environments.server import served
from selfplay.environments.sessions import Sessions
from selfplay.rollout.injector import Mix
from selfplay.rollout.scheduler import one_per_core, relaxed_gc
from selfplay.sandbox import Backend
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers


@dataclass(frozen=True)
class ServeOrder:
    """What the user asked for. `out`: a run's folder, new or from `selfplay curriculum` on the same source, whose bugs
    can also be attempted. `prompts`: how many different prompts the injector is offered. `sessions`: the most at once;
    `silent`: seconds without a request after which a session is closed. `limits`: of an episode."""

    source: str
    out: Path
    port: int = 0
    strategy: Mix = "direct"
    seed: int = 0
    setup: str | None = None
    test: str | None = None
    allow_hosts: tuple[str, ...] = ()
    workers: int | None = None
    prompts: int = 64
    sessions: int = 64
    silent: float = 900.0
    limits: EpisodeLimits = field(default_factory=EpisodeLimits)


def serve_environments(
    order: ServeOrder, backend: Backend, watcher: CurriculumWatcher, ready: Callable[[int], Any], until: asyncio.Event
) -> None:
    """Serve until `until` is set; `ready` is called with the port. Raises `SelfplayError`; what was stored is kept."""
    wanted = Order(
        order.source, order.out, strategy=order.strategy, seed=order.seed, setup=order.setup, test=order.test,
        policy=OUTSIDE, group=PROMPT_EPISODES, allow_hosts=order.allow_hosts, workers=order.workers,
    )  # fmt: skip
    refuse_out_in_source(wanted)
    player = OutsidePlayer(order.limits)
    with ExitStack() as stack:
        pool = stack.enter_context(open_curriculum(order.out))
        cleanup.sweep(order.out)
        say_if_shared(order.out, watcher.say)
        pool.settle({"source": order.source} if pool.episodes.any_stored() else settings_of(wanted))
        settle_attempts(pool, OUTSIDE, player, 0)
        prepared, suite = prepared_source(wanted, pool, backend, watcher)
        runner = stack.enter_context(EventLoop())
        workers = stack.enter_context(Workers(one_per_core(order.workers)))
        stack.enter_context(relaxed_gc())
        both = repository_runs(wanted, prepared, suite, player, SandboxPool(backend), workers, OUTSIDE)
        run = ServedRun(pool, both.injecting, both.solving, order.prompts, watcher.say)
        try:
            runner.run(_served(order, run, ready, until))
        finally:
            write_summary(order.out, {**read_summary(order.out), **summarise(pool)})


async def _served(order: ServeOrder, run: ServedRun, ready: Callable[[int], Any], until: asyncio.Event) -> None:
    await run.look()
    sessions = Sessions(run, order.limits, order.sessions, order.silent)
    async with served(sessions, order.port, order.out) as port:
        ready(port)
        await until.wait()
