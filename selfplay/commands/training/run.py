"""What `selfplay train` does: joint self-play of one policy in both roles, in one process or on a Ray cluster.

A step plays the injector groups and the solver groups that `loop.schedule` says, credits them together
(`docs/credit.md`), takes one update and gives the engines the new weights (`training.loop`). After a kill at any moment
the same command resumes: played episodes are kept, and each rollout is trained on exactly once.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from selfplay.agent.chat_format import ChatFormat
from selfplay.artifact.files import write_atomically
from selfplay.commands import cleanup
from selfplay.commands.curriculum import CurriculumWatcher
from selfplay.commands.event_loop import EventLoop
from selfplay.commands.learn import vocabulary_of
from selfplay.commands.order import Order, refuse_out_in_source, repository_settings, shared_settings
from selfplay.commands.shared_run import say_if_shared
from selfplay.commands.solve import chosen, settle_attempts
from selfplay.commands.training import watching
from selfplay.commands.training.bugs import ReadyBugs
from selfplay.commands.training.choice import ONLY, TRAINING
from selfplay.commands.training.interfaces import TrainingParts
from selfplay.commands.training.loop import Training
from selfplay.commands.training.opponents import opposed
from selfplay.commands.training.repositories import Repositories, prepared_sources
from selfplay.commands.training.request import Known, TrainOrder, curriculum_order, repository_runs
from selfplay.commands.training.shared_checkpoints import refuse_large_descriptions
from selfplay.curriculum import Curriculum, CurriculumError, open_curriculum
from selfplay.curriculum.store import ROLES
from selfplay.curriculum.summary import read_summary, summarise, write_summary
from selfplay.formatting import listed
from selfplay.loop.config import by_default
from selfplay.loop.ledger import Ledger, open_ledger
from selfplay.loop.machine import Cluster
from selfplay.policies.tokenizer import imported, load_tokenizer
from selfplay.rollout.model_player import ModelPlayer
from selfplay.rollout.players import player_named
from selfplay.rollout.runs import RepositoryRuns
from selfplay.rollout.scheduler import one_per_core, relaxed_gc
from selfplay.sandbox import Backend
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers


class RunWatcher(CurriculumWatcher, watching.StepWatcher, Protocol):
    """Receives the progress of the run."""

    def done(self, line: str) -> None:
        """One more of the expected steps is done."""
        ...


def run_training(order: TrainOrder, backend: Backend, watcher: RunWatcher) -> dict[str, Any]:
    """Train, or resume training. Returns the figures of every step and the folder of the newest weights.

    Raises `SelfplayError` for what the user can fix; played and learned steps are kept; the same command resumes."""
    config = order.config
    wanted = [curriculum_order(order, one) for one in config.repositories]
    for one in wanted:
        refuse_out_in_source(one)
    for module in ("torch", "transformers", "safetensors"):
        imported(module, "train")
    from selfplay.train.precision import slow_precision

    if config.cluster is not None:
        imported("ray", "cluster")
    elif slow := slow_precision(config.recipe.precision):
        watcher.say(slow)
    player, chat = player_named(config.played_by, config.engine_options), ChatFormat(load_tokenizer(config.model))
    assert isinstance(player, ModelPlayer)
    with ExitStack() as stack:
        pool = stack.enter_context(open_curriculum(order.out))
        refuse_large_descriptions(order.out)
        ledger = stack.enter_context(open_ledger(order.out))
        cleanup.sweep(order.out)
        say_if_shared(order.out, watcher.say)
        ledger.settle(config.binding(), unrecorded=by_default())
        _settle(pool, wanted, player)
        if ledger.recorded(ONLY) is None and (only := chosen(pool, config.solver.only)):
            ledger.settle({ONLY: sorted(only)})  # new bugs may change what a prefix names
        settle_attempts(pool, TRAINING, player, config.solver.attempts)
        pool.settle_attempts(TRAINING, {ROLES: config.roles})
        if config.cluster is not None:  # before anything is built, which may take hours
            stack.enter_context(_joined(config.cluster, order.address, watcher))
        measured = prepared_sources(wanted, pool, ledger, backend, watcher, config.injector.groups > 0)
        runner = stack.enter_context(EventLoop())
        workers = stack.enter_context(Workers(one_per_core(config.workers)))
        stack.enter_context(relaxed_gc())
        seats = SandboxPool(backend)
        runs = {
            one.source: repository_runs(one, *measured[one.source], player, seats, workers, TRAINING)
            for one in wanted
            if one.source in measured
        }
        try:
            weights = runner.run(_trained(order, runs, pool, ledger, chat, watcher))
        finally:
            write_summary(order.out, {**read_summary(order.out), **summarise(pool)})
        return {"steps": ledger.finished(), "weights": str(weights) if weights else None}


def _joined(wanted: Cluster, address: str | None, watcher: RunWatcher) -> AbstractContextManager[None]:
    from selfplay.cluster.ray_session import joined

    watcher.say("starting Ray" if address is None else f"joining Ray at {address}")
    return joined(wanted, address)


def _settle(pool: Curriculum, wanted: Sequence[Order], player: ModelPlayer) -> None:
    """Record the settings that fix the run's bugs; a pool that already has bugs of other policies keeps its own
    settings.

    Raises `CurriculumError` for a pool that was made of other repositories."""
    names, known = [one.source for one in wanted], pool.repositories()
    if not pool.episodes.any_stored():
        source: str | list[str] = names[0] if len(names) == 1 else names
        pool.settle({**shared_settings(wanted[0]), "source": source, **player.settings})
        for one in wanted:
            pool.settle_repository(one.source, repository_settings(one))
    elif not known.keys() & set(names):
        raise CurriculumError(
            f"{pool.folder} was made with source = {listed(known)}, not {listed(names)}", "Give another --out."
        )
    pool.add_repositories(names)


async def _trained(
    order: TrainOrder,
    runs: Mapping[str, RepositoryRuns],
    pool: Curriculum,
    ledger: Ledger,
    chat: ChatFormat,
    watcher: RunWatcher,
) -> Path | None:
    """Play and learn until the last step. Returns the folder of the weights."""
    config = order.config

    known = pool.episodes.keys

    def store() -> None:
        _write_metrics(order.out, ledger)
        stepped(ledger.finished())

    seen = watching.watching(config, order.out, ledger.finished(), watcher)
    informed = {name: _knowing(one, known) for name, one in runs.items()}
    async with (
        _parts(order, runs, known, watcher) as parts,
        opposed(config, informed, chat, watcher, parts.opposes) as opponent,
    ):
        training = Training(
            config=config,
            pool=pool,
            ledger=ledger,
            repositories=Repositories.of(config, ledger, pool, watcher.say),
            runs=runs,
            bugs=ReadyBugs(pool, runs, watcher.say),
            plays=parts.plays,
            engines=parts.engines,
            learner=parts.learner,
            chat=chat,
            vocabulary=vocabulary_of(config.model),
            watcher=watcher,
            store=store,
            opponent=opponent,
        )
        watcher.expect(config.steps, "training", ledger.steps_finished())
        with seen as stepped:
            return await training.run()


@asynccontextmanager
async def _parts(
    order: TrainOrder, runs: Mapping[str, RepositoryRuns], known: Known, watcher: RunWatcher
) -> AsyncIterator[TrainingParts]:
    """The parts that play, sample and learn: in this process, or on a cluster."""
    injecting = next(iter(runs.values())).injecting
    player = injecting.player
    assert isinstance(player, ModelPlayer)
    if order.config.cluster is not None:
        from selfplay.commands.training.cluster import on_cluster

        async with on_cluster(order, runs, known, watcher) as parts:
            yield parts
        return
    from selfplay.commands.training.local import LearnsHere, OneThread, PlayedHere, SamplesHere
    from selfplay.commands.training.update import Learner

    try:
        await player.open(watcher.say)
        watcher.say(f"loading {order.config.model} to train it")
        thread = OneThread()
        learner = await thread.run(Learner, order.config, order.out)
        places = player.episodes or injecting.workers.count
        here = {name: _knowing(one, known) for name, one in runs.items()}
        yield TrainingParts(PlayedHere(here, places), SamplesHere(player), LearnsHere(learner, thread))
    finally:
        await player.close()


def _knowing(runs: RepositoryRuns, known: Known) -> RepositoryRuns:
    """The runs, in which an artifact that is already in the pool counts as a duplicate."""
    name = runs.injecting.repository
    return replace(runs, injecting=replace(runs.injecting, is_known=lambda key: key in known(name)))


def _write_metrics(out: Path, ledger: Ledger) -> None:
    """Write a line of JSON for every finished step from the ledger."""
    lines = "".join(f"{json.dumps(one)}\n" for one in ledger.finished())
    write_atomically(out / "metrics.jsonl", lines.encode())
