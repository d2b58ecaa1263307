"""Starts the actors of a run: the resources of each, and how often Ray restarts it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import ray

from selfplay.cluster.engine import EngineActor
from selfplay.cluster.host import HostActor
from selfplay.cluster.trainer import RankActor, threads_of
from selfplay.loop.machine import Cluster
from selfplay.rollout.model_player import Opened

ALWAYS = -1
CALLS = 4096
"""How many calls an actor takes at once: for an engine, all its episodes' requests."""


def engine_actors(wanted: Cluster, open_model: Callable[[], Awaitable[Opened]], count: int) -> list[Any]:
    """So many engines of a model, each on its own GPUs."""
    options = _placed(wanted.engine_gpus, max_restarts=ALWAYS, max_concurrency=CALLS)
    return [ray.remote(EngineActor).options(**options).remote(str(Path.cwd()), open_model) for _ in range(count)]


def host_actors(wanted: Cluster) -> list[Any]:
    """The hosts, spread over the nodes."""
    kind = ray.remote(HostActor).options(
        num_cpus=wanted.host_cpus,
        max_restarts=ALWAYS,
        max_concurrency=wanted.host_episodes + 8,
        scheduling_strategy="SPREAD",
    )
    return [kind.remote(str(Path.cwd())) for _ in range(wanted.hosts)]


def rank_actor(wanted: Cluster, rank: int) -> Any:
    """One rank of the trainer. Ray does not restart it alone: the other ranks would hang."""
    threads = None if wanted.trainer_gpus else threads_of(wanted.trainers)
    return (
        ray.remote(RankActor)
        .options(**_placed(wanted.trainer_gpus))
        .remote(str(Path.cwd()), rank, wanted.trainers, threads)
    )


def _placed(gpus: int, **more: Any) -> dict[str, Any]:
    """Options of an actor that computes. Without a GPU it uses the machine's cores: Ray's default is one."""
    if gpus:
        return {"num_gpus": gpus, "num_cpus": 0, **more}
    threads = {"OMP_NUM_THREADS": str(threads_of(1))}
    return {"num_cpus": 0, "runtime_env": {"env_vars": threads}, **more}
