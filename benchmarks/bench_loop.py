"""What the driver of a training run costs: its process, while thousands of episodes are played on a Ray cluster.

Everything of the driver is real: its pool and ledger, the places at hosts, what Ray hands over, the watch over 64
engines, trajectories written and rows stored, credit. The hosts are actors that wait `SECONDS` and return a ready
rollout of 20 turns, so that only the driver's cost is measured; the update itself is left out. The share is that of a
driver whose episodes take `MINUTES`, as a model's with 20 turns and tests do.
`python -m benchmarks.bench_loop [--json]`, with Ray.
"""

import argparse
import asyncio
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ray

from benchmarks.bench_episodes import CHAT, TOLD, Engine, Tools
from benchmarks.figures import Figure, Sheet, at_most, report
from selfplay.agent import EpisodeLimits, Trajectory, play_episode
from selfplay.agent.conversation import TokenConversation
from selfplay.agent.tools import SSR_TOOLS
from selfplay.cluster.engine import State
from selfplay.cluster.engines import Engines
from selfplay.cluster.hosts import Hosts
from selfplay.cluster.ray_session import joined
from selfplay.commands.training.bugs import ReadyBugs
from selfplay.commands.training.loop import Training
from selfplay.commands.training.repositories import Repositories
from selfplay.curriculum import open_curriculum
from selfplay.loop.config import TrainConfig
from selfplay.loop.ledger import open_ledger
from selfplay.loop.machine import Cluster
from selfplay.rollout.rollout import InjectorKey, InjectorOutcome, InjectorRollout, Rollout
from selfplay.rollout.runs import RepositoryRuns
from selfplay.rollout.scheduler import relaxed_gc
from selfplay.rollout.stored import with_file
from selfplay.sandbox.workers import Workers
from selfplay.update.batch.crediting import Credited
from selfplay.update.batch.figures import UpdateFigures

AT_ONCE, ENGINES, HOSTS = (512, 4096), 64, 4
SECONDS, MINUTES, STEPS = 20.0, 10.0, 2
MB = 1024


class HostOfNothing:
    """A host that waits and returns the rollout it was opened with."""

    def __init__(self) -> None:
        self._rollout: InjectorRollout | None = None

    async def open(self, rollout: InjectorRollout) -> None:
        self._rollout = rollout

    async def there(self) -> bool:
        return True

    async def inject(self, repository: str, number: int, known: frozenset[str], least: int) -> InjectorRollout:
        assert self._rollout is not None
        await asyncio.sleep(SECONDS)
        return with_file(replace(self._rollout, task=replace(self._rollout.task, number=number)))

    async def close(self) -> None:
        """It holds nothing."""


class _Call:
    """A method of an engine, called as Ray's are."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def remote(self, *given: Any) -> Any:
        return self._answer


@dataclass
class LearnsNothing:
    """Counts the updates."""

    version: int = 0

    async def learn(self, rollouts: Sequence[Credited], step: int) -> UpdateFigures:
        self.version += 1
        return {"step": None, "nothing": "no trainer", "rollouts": {}}

    async def write(self) -> Path | None:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    with joined(Cluster(host_cpus=1), None):
        report([sheet(count) for count in AT_ONCE], chosen.json)


def sheet(count: int) -> Sheet:
    """The driver's cost with so many episodes at once."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MB
    with tempfile.TemporaryDirectory() as folder:
        cpu, wall = asyncio.run(played(Path(folder), count))
    episodes = STEPS * count
    share = 100 * (cpu / episodes) * count / (60 * MINUTES)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MB
    return Sheet(
        f"{count} episodes at once, {ENGINES} engines, {HOSTS} hosts",
        (
            Figure("core time of the driver, an episode", 1000 * cpu / episodes, "ms"),
            at_most(f"its share of a core where an episode takes {MINUTES:.0f} minutes", share, 5, "%"),
            Figure("memory more than before", after - before, "MB"),
            Figure("wall", wall, "s"),
        ),
    )


async def played(folder: Path, count: int) -> tuple[float, float]:
    """The driver's core seconds and wall seconds for `STEPS` steps of `count` episodes each."""
    actors = [ray.remote(HostOfNothing).options(num_cpus=0, max_concurrency=count).remote() for _ in range(HOSTS)]
    key = InjectorKey("nowhere", "removal", 0, 0)
    rollout = Rollout(await trajectory(), key, InjectorOutcome("gave_up", "nothing was submitted", SECONDS))
    engines = Engines([SimpleNamespace(state=_Call(State(0, None)), open=_Call(None), close=_Call(None))] * ENGINES)
    with ExitStack() as stack:
        pool, ledger = stack.enter_context(open_curriculum(folder)), stack.enter_context(open_ledger(folder))
        workers = stack.enter_context(Workers(os.cpu_count() or 1))
        stack.enter_context(relaxed_gc())
        hosts = Hosts(actors, rollout, count // HOSTS, lambda name: frozenset(), 600.0)  # type: ignore[arg-type]
        await hosts.open()
        player = SimpleNamespace(name="none")
        shared: Any = SimpleNamespace(repository="nowhere", seats=None, workers=workers, player=player)
        config, say = asked(count), SILENT.say
        training = Training(
            config=config, pool=pool, ledger=ledger, repositories=Repositories.of(config, ledger, pool, say),
            runs=(runs := {"nowhere": RepositoryRuns(shared, shared)}), bugs=ReadyBugs(pool, runs, SILENT.say),
            plays=hosts, engines=engines, learner=LearnsNothing(),
            chat=CHAT, vocabulary=None, watcher=SILENT,
        )  # fmt: skip
        watches = [asyncio.create_task(engines._watched(number)) for number in range(ENGINES)]
        cpu, wall = time.process_time(), time.monotonic()
        await training.run()
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
        for watch in watches:
            watch.cancel()
        await hosts.close()
    return cpu, wall


def asked(count: int) -> TrainConfig:
    """A run whose every step is one group of `count` injector episodes."""
    found = {
        "source": "nowhere", "model": "none", "steps": STEPS, "play": {"context": 4096},
        "injector": {"groups": 1, "members": count}, "solver": {"bugs": 0},
        "recipe": {"valid": "consistency", "filters": []}, "cluster": {},
    }  # fmt: skip
    return TrainConfig.model_validate(found)


async def trajectory() -> Trajectory:
    """A real episode's, of 20 turns, with its tape."""
    policy = TokenConversation(Engine(20), CHAT, "injector", TOLD, toolset=SSR_TOOLS)
    tools: Any = Tools()
    with Workers(1) as workers:
        return await play_episode(
            policy, tools, "injector", toolset=SSR_TOOLS, workers=workers, limits=EpisodeLimits(64, 600.0)
        )


SILENT: Any = SimpleNamespace(say=lambda line: None, done=lambda line: None)

if __name__ == "__main__":
    main()
