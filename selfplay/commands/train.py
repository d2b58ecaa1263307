"""What `selfplay train` does: joint self-play of one policy in both roles, in one process or on a Ray cluster.

A step plays the injector groups and the solver groups that `training.schedule` says, credits them together
(`docs/credit.md`), takes one update and gives the engines the new weights. `train_loop` says which steps are played at
once. Killed at any moment, the same command goes on: what was played is kept, and each rollout is trained on once.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from selfplay.agent.chat_format import ChatFormat
from selfplay.artifact.files import write_atomically
from selfplay.commands import leftovers, watching
from selfplay.commands.curriculum import Watcher as CurriculumWatcher
from selfplay.commands.curriculum import prepared_source
from selfplay.commands.learn import vocabulary_of
from selfplay.commands.order import refuse_out_in_source, settings_of
from selfplay.commands.solve import settle_attempts
from selfplay.commands.train_loop import TRAINING, Training, newest_weights
from selfplay.commands.train_opponents import opposed
from selfplay.commands.train_order import Known, TrainOrder, curriculum_order, injector_run, solver_run
from selfplay.commands.train_parts import Learns, Plays, Samples
from selfplay.curriculum import Curriculum, open_curriculum
from selfplay.curriculum.summary import read_summary, summarise, write_summary
from selfplay.policies.tokenizer import imported, load_tokenizer
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


class Watcher(CurriculumWatcher, watching.Watcher, Protocol):
    """Receives the progress of the run."""

    def done(self, line: str) -> None:
        """One more of the expected steps is done."""
        ...


def run_training(order: TrainOrder, backend: Backend, watcher: Watcher) -> dict[str, Any]:
    """Train, or go on training. Returns the figures of every step and the folder of the newest weights.

    Raises `SelfplayError` for what the user can fix; what was played and learned is kept; the same command resumes."""
    config = order.config
    wanted = curriculum_order(order)
    refuse_out_in_source(wanted)
    for module in ("torch", "transformers", "safetensors"):
        imported(module, "train")
    if config.cluster is not None:
        imported("ray", "cluster")
    player, chat = player_named(config.played_by, config.options), ChatFormat(load_tokenizer(config.model))
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
        workers = stack.enter_context(Workers(one_per_core(config.workers)))
        stack.enter_context(rare_collections())
        injecting = injector_run(wanted, prepared, suite, player, Pool(backend), workers)
        try:
            runner.run(_trained(order, injecting, pool, ledger, chat, watcher))
        finally:
            write_summary(order.out, {**read_summary(order.out), **summarise(pool)})
        weights = newest_weights(order.out)
        return {"steps": ledger.finished(), "weights": str(weights) if weights else None}


async def _trained(
    order: TrainOrder, injecting: InjectorRun, pool: Curriculum, ledger: Ledger, chat: ChatFormat, watcher: Watcher
) -> None:
    """Play and learn until the last step."""
    config = order.config

    def known() -> frozenset[str]:
        return frozenset(pool.episodes.tree_keys(config.source))

    def store() -> None:
        _write_metrics(order.out, ledger)
        stepped(ledger.finished())

    injecting = replace(injecting, is_known=lambda key: key in known())
    solving = solver_run(injecting, TRAINING)
    seen = watching.watching(config, order.out, ledger.finished(), watcher)
    async with (
        _parts(order, injecting, solving, known, watcher) as (plays, engines, learner),
        opposed(config, injecting, solving, chat, watcher) as opponent,
    ):
        training = Training(
            config=config,
            pool=pool,
            ledger=ledger,
            injecting=injecting,
            solving=solving,
            plays=plays,
            engines=engines,
            learner=learner,
            chat=chat,
            vocabulary=vocabulary_of(config.model),
            first=_first(pool, ledger, config),
            watcher=watcher,
            store=store,
            opponent=opponent,
        )
        watcher.expect(config.steps - len(ledger.finished()), "training")
        with seen as stepped:
            await training.run()


@asynccontextmanager
async def _parts(
    order: TrainOrder, injecting: InjectorRun, solving: SolverRun, known: Known, watcher: Watcher
) -> AsyncIterator[tuple[Plays, Samples, Learns]]:
    """What plays, what samples and what learns: in this process, or on a cluster. `known`: the pool's tree keys."""
    player = injecting.player
    assert isinstance(player, ModelPlayer)
    if order.config.cluster is not None:
        from selfplay.commands.train_cluster import on_cluster

        async with on_cluster(order, injecting, known, watcher) as parts:
            yield parts
        return
    from selfplay.commands.train_here import LearnsHere, PlayedHere, SamplesHere
    from selfplay.commands.train_update import Learner

    try:
        await player.open(watcher.say)
        watcher.say(f"loading {order.config.model} to train it")
        learner = await asyncio.to_thread(Learner, order.config, order.out)
        places = player.episodes or injecting.workers.count
        yield PlayedHere(injecting, solving, places), SamplesHere(player), LearnsHere(learner)
    finally:
        await player.close()


def _first(pool: Curriculum, ledger: Ledger, config: TrainConfig) -> int:
    """The number of the run's first injector episode, recorded when the run begins."""
    known = ledger.recorded("first")
    if known is None:
        known = first_injection(sorted(pool.episodes.finished(config.source)), config.injector.members)
        ledger.settle({"first": known})
    return int(known)


def _write_metrics(out: Path, ledger: Ledger) -> None:
    """A line of JSON for every finished step, as the ledger has it."""
    lines = "".join(f"{json.dumps(one)}\n" for one in ledger.finished())
    write_atomically(out / "metrics.jsonl", lines.encode())
