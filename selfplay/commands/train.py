"""What `selfplay train` does: joint self-play of one policy in both roles, step by step, in one process.

A step plays the injector groups and the solver groups that `training.schedule` says, credits them together
(`docs/credit.md`), takes one update and gives the engine the new weights. So nothing is stale and no injection waits.
Killed at any moment, the same command goes on: what was played is kept, and each rollout is trained on once.
"""

import asyncio
import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from selfplay.agent.chat_format import ChatFormat
from selfplay.artifact.files import write_atomically
from selfplay.commands import leftovers
from selfplay.commands.curriculum import Watcher as CurriculumWatcher
from selfplay.commands.curriculum import prepared_source
from selfplay.commands.learn import vocabulary_of
from selfplay.commands.order import Order, refuse_out_in_source, settings_of
from selfplay.commands.solve import settle_attempts
from selfplay.commands.train_loop import TRAINING, Training
from selfplay.curriculum import Curriculum, open_curriculum
from selfplay.curriculum.summary import read_summary, summarise, write_summary
from selfplay.policies.tokenizer import imported, load_tokenizer
from selfplay.repository import Prepared, Suite
from selfplay.rollout.bug_record import Origin
from selfplay.rollout.injector import InjectorRun
from selfplay.rollout.many import one_per_core, rare_collections
from selfplay.rollout.model_player import ModelPlayer
from selfplay.rollout.players import player_named
from selfplay.rollout.solver import SolverRun
from selfplay.sandbox import Backend
from selfplay.sandbox.pool import Pool
from selfplay.sandbox.workers import Workers
from selfplay.training.config import TrainConfig
from selfplay.training.ledger import Ledger, open_ledger
from selfplay.training.schedule import first_injection
from selfplay.validators import Thresholds


@dataclass(frozen=True)
class TrainOrder:
    """What the user asked for. `out`: a run's folder, new or of `selfplay curriculum` on the same source: the solver is
    then trained on its bugs, too."""

    config: TrainConfig
    out: Path


class Watcher(CurriculumWatcher, Protocol):
    """Receives the progress of the run."""

    def done(self, line: str) -> None:
        """One more of the expected steps is done."""
        ...


def run_training(order: TrainOrder, backend: Backend, watcher: Watcher) -> dict[str, Any]:
    """Train, or go on training. Returns the figures of every step and the folder of the newest weights.

    Raises `SelfplayError` for what the user can fix; what was played and learned is kept; the same command resumes."""
    config = order.config
    wanted = _curriculum_order(order)
    refuse_out_in_source(wanted)
    for module in ("torch", "transformers", "safetensors"):
        imported(module, "train")
    player = player_named(config.played_by, config.options)
    assert isinstance(player, ModelPlayer)
    with ExitStack() as stack:
        pool = stack.enter_context(open_curriculum(order.out))
        ledger = stack.enter_context(open_ledger(order.out))
        leftovers.sweep(order.out)
        ledger.settle(config.binding())
        if pool.episodes.any_stored():
            pool.settle({"source": config.source})
        else:
            pool.settle({**settings_of(wanted), **player.settings})
        settle_attempts(pool, TRAINING, player)
        prepared, suite = prepared_source(wanted, pool, backend, watcher)
        runner = stack.enter_context(asyncio.Runner())
        stack.callback(lambda: runner.run(player.close()))
        runner.run(player.open(watcher.say))
        try:
            weights = runner.run(_trained(order, wanted, pool, ledger, prepared, suite, backend, player, watcher))
        finally:
            write_summary(order.out, {**read_summary(order.out), **summarise(pool)})
            _write_metrics(order.out, ledger)
        return {"steps": ledger.finished(), "weights": str(weights) if weights else None}


async def _trained(
    order: TrainOrder,
    wanted: Order,
    pool: Curriculum,
    ledger: Ledger,
    prepared: Prepared,
    suite: Suite,
    backend: Backend,
    player: ModelPlayer,
    watcher: Watcher,
) -> Path | None:
    """Play and learn until the last step. Returns the newest weights; None before the first update."""
    from selfplay.commands.train_update import Learner

    config, seats = order.config, Pool(backend)
    chat, vocabulary = ChatFormat(load_tokenizer(config.model)), vocabulary_of(config.model)
    watcher.say(f"loading {config.model} to train it")
    learner = await asyncio.to_thread(Learner, config, order.out)
    with Workers(one_per_core(config.workers)) as workers, rare_collections():
        injecting = InjectorRun(
            repository=config.source,
            origin=Origin(prepared, wanted.thresholds, config.seed, wanted.public_share, dict(prepared.recorded)),
            suite=suite,
            strategy=config.injector.strategy,
            player=player,
            pool=seats,
            workers=workers,
            is_known=lambda key: key in pool.episodes.tree_keys(config.source),
            group=config.injector.members,
        )
        solving = SolverRun(prepared, TRAINING, player, seats, workers, config.seed, weak="refuse")
        first = _first(pool, ledger, config)
        training = Training(config, pool, ledger, injecting, solving, player, learner, chat, vocabulary, first, watcher)
        await training.sync()
        watcher.expect(config.steps - len(ledger.finished()), "training")
        for step in range(len(ledger.finished()), config.steps):
            await training.step(step)
            _write_metrics(order.out, ledger)
    return learner.weights


def _first(pool: Curriculum, ledger: Ledger, config: TrainConfig) -> int:
    """The number of the run's first injector episode, recorded when the run begins."""
    known = ledger.recorded("first")
    if known is None:
        known = first_injection(sorted(pool.episodes.finished(config.source)), config.injector.members)
        ledger.settle({"first": known})
    return int(known)


def _curriculum_order(order: TrainOrder) -> Order:
    """The order of a curriculum with the same source and injector."""
    config, how = order.config, order.config.injector
    return Order(
        config.source,
        order.out,
        strategy=how.strategy,
        seed=config.seed,
        workers=config.workers,
        setup=config.setup,
        test=config.test,
        thresholds=Thresholds(
            min_passing_tests=how.min_passing, min_changed_files=how.min_files, min_failing_tests=how.min_failing
        ),
        policy=config.played_by,
        options=config.options,
        group=how.members,
    )


def _write_metrics(out: Path, ledger: Ledger) -> None:
    """A line of JSON for every finished step, as the ledger has it."""
    lines = "".join(f"{json.dumps(one)}\n" for one in ledger.finished())
    write_atomically(out / "metrics.jsonl", lines.encode())
