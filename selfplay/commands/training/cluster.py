"""The parts of a training run on Ray: its actors, and the setup of each."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from selfplay.agent.chat_format import ChatFormat
from selfplay.cluster.actor_calls import all_of
from selfplay.cluster.actors import engine_actors, host_actors, rank_actor
from selfplay.cluster.engine import EngineFacts
from selfplay.cluster.engines import Engines, RemoteEngine
from selfplay.cluster.errors import ClusterError
from selfplay.cluster.host import HostRuns, once_each
from selfplay.cluster.hosts import Hosts, Opposing
from selfplay.cluster.trainer import RemoteLearner
from selfplay.cluster.weights import Broadcast, Folder, Weights
from selfplay.commands.curriculum import prepared_here
from selfplay.commands.injections import play_injection
from selfplay.commands.order import Order
from selfplay.commands.training.choice import TRAINING
from selfplay.commands.training.interfaces import TrainingParts, TrainWatcher
from selfplay.commands.training.opponents import opposing_player
from selfplay.commands.training.request import Known, TrainOrder, curriculum_order, repository_runs
from selfplay.commands.training.update import Learner
from selfplay.loop.config import TrainConfig
from selfplay.loop.machine import Cluster
from selfplay.policies.tokenizer import load_tokenizer
from selfplay.repository import Prepared, Suite
from selfplay.rollout.injector import InjectorRun
from selfplay.rollout.model_player import ModelPlayer, TokenSide
from selfplay.rollout.runs import RepositoryRuns
from selfplay.rollout.scheduler import relaxed_gc
from selfplay.sandbox import Backend
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers

AROUND = 3600.0
"""Seconds allowed in addition to an episode's own: for checks or a grade, and the bug's calibration."""


@asynccontextmanager
async def on_cluster(
    order: TrainOrder, runs: Mapping[str, RepositoryRuns], known: Known, watcher: TrainWatcher
) -> AsyncIterator[TrainingParts]:
    """Start the actors on the joined cluster, and end them when the context ends. Raises `SelfplayError`."""
    config, wanted = order.config, order.config.cluster
    player = next(iter(runs.values())).injecting.player
    assert wanted is not None and isinstance(player, ModelPlayer)
    async with AsyncExitStack() as stack:
        watcher.say(f"opening {config.model}: engines {wanted.engines}, trainers {wanted.trainers}")
        make = partial(Learner, config, order.out.absolute())
        learner = RemoteLearner(partial(rank_actor, wanted), make, wanted.trainers)
        engines = Engines(engine_actors(wanted, player.opener, wanted.engines), _weights(wanted, learner))
        against = _opposing(config) if wanted.opponents else None
        frozen = Engines(engine_actors(wanted, against.opener, wanted.opponents)) if against else None
        both = [engines, *([frozen] if frozen else [])]
        for close in (*(one.close for one in both), learner.close):
            stack.push_async_callback(close)
        await all_of([*(one.open() for one in both), learner.open()])
        watcher.say(f"opening hosts: {wanted.hosts}")
        setup = HostSetup.of(order, runs, player, engines)
        if against and frozen:
            setup = replace(setup, opponent=(against, frozen.actors))
        seconds = player.limits.seconds + AROUND
        hosts = Hosts(
            host_actors(wanted), partial(_opened, setup), wanted.host_episodes, known, seconds, lambda: engines.synced
        )
        for one in both:
            one.failed = hosts.fail
        stack.push_async_callback(hosts.close)
        await hosts.open()
        yield TrainingParts(hosts, engines, learner, Opposing(hosts) if frozen else None)


def _opposing(config: TrainConfig) -> ModelPlayer:
    player = opposing_player(config)
    assert isinstance(player, ModelPlayer)
    return player


def _weights(wanted: Cluster, learner: RemoteLearner) -> Weights:
    """How weights go to the engines; NCCL needs GPUs at both ends."""
    if wanted.weights == "files":
        return Folder()
    backend = "nccl" if wanted.engine_gpus and wanted.trainer_gpus else "gloo"
    return Broadcast(learner, max(1, wanted.engine_gpus), backend)


@dataclass(frozen=True)
class ClusterParts:
    """The driver's version of a repository: its tree id, the versions of its environment, its suite."""

    tree_hash: str
    environment: tuple[Any, ...]
    suite: Suite


@dataclass(frozen=True)
class HostSetup:
    """The setup of a host. `found`: the usable repositories; `threads`: for tools; `opponent`: who it is, and its
    engines."""

    order: TrainOrder
    found: Mapping[str, ClusterParts]
    player: ModelPlayer
    engines: Sequence[Any]
    facts: EngineFacts
    threads: int
    opponent: tuple[ModelPlayer, Sequence[Any]] | None = None

    @classmethod
    def of(
        cls,
        order: TrainOrder,
        runs: Mapping[str, RepositoryRuns],
        player: ModelPlayer,
        engines: Engines,
    ) -> "HostSetup":
        """The setup with the driver's measurements; every host has one tool thread per requested core."""
        assert order.config.cluster is not None and engines.facts is not None
        found = {name: _found(one.injecting) for name, one in runs.items()}
        threads = order.config.workers or order.config.cluster.host_cpus
        return cls(order, found, player, engines.actors, engines.facts, threads)


def _found(run: InjectorRun) -> ClusterParts:
    prepared = run.origin.prepared
    return ClusterParts(prepared.tree_hash, _environment(prepared), run.suite)


def _environment(prepared: Prepared) -> tuple[Any, ...]:
    """The versions of a repository's test environment."""
    return tuple(prepared.recorded.get(name) for name in ("python", "setup", "lock"))


async def _opened(setup: HostSetup) -> HostRuns:
    """Open a host. Its repositories are prepared once per machine, when an episode first needs them."""
    backend = setup.order.isolation.opened()
    relaxed_gc().__enter__()  # until the process ends
    workers, seats = Workers(setup.threads).__enter__(), SandboxPool(backend)
    wanted = {one.source: curriculum_order(setup.order, one) for one in setup.order.config.repositories}

    async def prepared(name: str) -> Prepared:
        return await asyncio.to_thread(_same, wanted[name], setup.found[name], backend)

    once = once_each(prepared)

    async def playing(player: ModelPlayer, engines: Sequence[Any]) -> HostRuns:
        engine = RemoteEngine(engines, setup.facts.name, setup.facts.context)
        here = player.elsewhere(partial(_sampled_by, engine, setup))
        await here.open()

        async def runs_of(name: str) -> RepositoryRuns:
            suite = setup.found[name].suite
            return repository_runs(wanted[name], await once(name), suite, here, seats, workers, TRAINING)

        return HostRuns(once_each(runs_of), play_injection, here.close, engine.at_least)

    own = await playing(setup.player, setup.engines)
    return replace(own, opponent=await playing(*setup.opponent)) if setup.opponent else own


async def _sampled_by(engine: RemoteEngine, setup: HostSetup) -> TokenSide:
    """A model that these engines sample."""
    chat = ChatFormat(await asyncio.to_thread(load_tokenizer, setup.order.config.model))
    return TokenSide(engine, chat, setup.facts.seeded)


def _same(wanted: Order, found: ClusterParts, backend: Backend) -> Prepared:
    """The repository, prepared on this machine. Raises `ClusterError` if it differs from the driver's, and the errors
    of preparing."""
    prepared = prepared_here(wanted, backend)
    if (prepared.tree_hash, _environment(prepared)) != (found.tree_hash, found.environment):
        raise ClusterError(
            f"{wanted.source} is not the same on every machine: here it is {prepared.revision}",
            "Name a revision, or clear the cache of the machine with the older one.",
        )
    return prepared
