"""The parts of a training run on Ray: which actors, and what each is opened with."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from selfplay.agent.chat_format import ChatFormat
from selfplay.cluster.answers import all_of
from selfplay.cluster.engine import Facts
from selfplay.cluster.engines import Engines, RemoteEngine
from selfplay.cluster.errors import ClusterError
from selfplay.cluster.host import Runs
from selfplay.cluster.hosts import Hosts
from selfplay.cluster.joining import joined
from selfplay.cluster.starting import engine_actors, host_actors, rank_actor
from selfplay.cluster.trainer import RemoteLearner
from selfplay.commands.injections import play_injection
from selfplay.commands.train_loop import TRAINING
from selfplay.commands.train_order import Known, TrainOrder, curriculum_order, injector_run, solver_run
from selfplay.commands.train_parts import Learns, Plays, Samples, Watcher
from selfplay.commands.train_update import Learner
from selfplay.policies.tokenizer import load_tokenizer
from selfplay.repository import Prepared, Suite, prepare
from selfplay.rollout.injector import InjectorRun
from selfplay.rollout.losses import again
from selfplay.rollout.many import rare_collections
from selfplay.rollout.model_player import ModelPlayer, TokenSide
from selfplay.sandbox.owners import marked
from selfplay.sandbox.pool import Pool
from selfplay.sandbox.workers import Workers

AROUND = 3600.0
"""Seconds that an episode may take beside its own: checks or a grade, and the bug's calibration."""


@asynccontextmanager
async def on_cluster(
    order: TrainOrder, injecting: InjectorRun, known: Known, watcher: Watcher
) -> AsyncIterator[tuple[Plays, Samples, Learns]]:
    """Start the actors, and end them with the context. Raises `SelfplayError`."""
    config, wanted, player = order.config, order.config.cluster, injecting.player
    assert wanted is not None and isinstance(player, ModelPlayer)
    async with AsyncExitStack() as stack:
        watcher.say("starting Ray" if order.address is None else f"joining Ray at {order.address}")
        stack.enter_context(joined(wanted, order.address))
        watcher.say(f"opening {config.model}: engines {wanted.engines}, trainers {wanted.trainers}")
        engines = Engines(engine_actors(wanted, player.opener))
        stack.push_async_callback(engines.close)
        make = partial(Learner, config, order.out.absolute())
        learner = RemoteLearner(partial(rank_actor, wanted), make, wanted.trainers)
        stack.push_async_callback(learner.close)
        await all_of([engines.open(), learner.open()])
        watcher.say(f"preparing {config.source}: hosts {wanted.hosts}")
        setup = HostSetup.of(order, injecting, player, engines)
        seconds = player.limits.seconds + AROUND
        hosts = Hosts(
            host_actors(wanted), partial(_opened, setup), wanted.host_episodes, known, seconds, lambda: engines.synced
        )
        engines.failed = hosts.fail
        stack.push_async_callback(hosts.close)
        await hosts.open()
        yield hosts, engines, learner


@dataclass(frozen=True)
class HostSetup:
    """What a host is opened with. `tree_hash`, `environment`: of the repository as the driver has it."""

    order: TrainOrder
    tree_hash: str
    environment: tuple[Any, ...]
    suite: Suite
    player: ModelPlayer
    engines: Sequence[Any]
    facts: Facts
    threads: int

    @classmethod
    def of(cls, order: TrainOrder, injecting: InjectorRun, player: ModelPlayer, engines: Engines) -> "HostSetup":
        """With what the driver has measured; every host has as many threads for tools as cores were asked for."""
        assert order.config.cluster is not None and engines.facts is not None
        prepared = injecting.origin.prepared
        threads = order.config.workers or order.config.cluster.host_cpus
        found = _environment(prepared)
        return cls(order, prepared.tree_hash, found, injecting.suite, player, engines.actors, engines.facts, threads)


def _environment(prepared: Prepared) -> tuple[Any, ...]:
    """The versions of what runs a repository's tests."""
    return tuple(prepared.recorded.get(name) for name in ("python", "setup", "lock"))


async def _opened(setup: HostSetup) -> Runs:
    """Open a host: prepare the repository, once a machine, and check that it is the driver's.

    Raises `ClusterError` for another, and what preparing raises."""
    wanted, backend = curriculum_order(setup.order), setup.order.isolation.opened()
    prepare_here = partial(
        prepare, wanted.source, backend=backend, releases=wanted.releases, setup=wanted.setup,
        allow_hosts=wanted.allow_hosts,
    )  # fmt: skip
    prepared = await asyncio.to_thread(again, prepare_here)
    if (prepared.tree_hash, _environment(prepared)) != (setup.tree_hash, setup.environment):
        raise ClusterError(
            f"{wanted.source} is not the same on every machine: here it is {prepared.revision}",
            "Name a revision, or clear the cache of the machine on which it is old.",
        )
    engine = RemoteEngine(setup.engines, setup.facts.name, setup.facts.context)

    async def opened() -> TokenSide:
        chat = ChatFormat(await asyncio.to_thread(load_tokenizer, setup.order.config.model))
        return TokenSide(engine, chat, setup.facts.seeded)

    player = setup.player.elsewhere(opened)
    await player.open()
    rare_collections().__enter__()  # until the process ends
    workers = Workers(setup.threads).__enter__()
    injecting = injector_run(wanted, prepared, setup.suite, player, Pool(backend), workers)
    scratch = Path(tempfile.mkdtemp(prefix=marked()))  # where this host is killed, the next sandbox backend removes it
    return Runs(injecting, solver_run(injecting, TRAINING), play_injection, scratch, engine.at_least)
