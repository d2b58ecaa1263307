"""What the driver of a training run costs: its process, while thousands of episodes are played on a Ray cluster.

Everything of the driver is real: its pool and ledger, the places at hosts, what Ray hands over, the watch over 64
engines, trajectories written and rows stored, bugs taken and sent to hosts, solver groups at each of them, credit. The
hosts are actors that wait `SECONDS` and return a ready rollout of 20 turns, so that only the driver's cost is measured;
the audit of new bugs and the update itself are left out. The share is that of a
driver whose episodes take `MINUTES`, as a model's with 20 turns and tests do.
`python -m benchmarks.bench_loop [--json]`, with Ray.
"""

import argparse
import asyncio
import os
import resource
import tempfile
import time
from collections.abc import Sequence, Set
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
from selfplay.artifact import Artifact, Bug
from selfplay.cluster.engine import State
from selfplay.cluster.engines import Engines
from selfplay.cluster.host import BugFiles
from selfplay.cluster.hosts import Hosts
from selfplay.cluster.ray_session import joined
from selfplay.commands.training.choice import TRAINING
from selfplay.commands.training.loop import Training
from selfplay.commands.training.repositories import Repositories
from selfplay.curriculum import Curriculum, open_curriculum
from selfplay.curriculum.stored_bugs import read_bug
from selfplay.loop.config import TrainConfig
from selfplay.loop.ledger import open_ledger
from selfplay.loop.machine import Cluster
from selfplay.rollout.rollout import (
    InjectorKey,
    InjectorOutcome,
    InjectorRollout,
    Rollout,
    SolverKey,
    SolverOutcome,
    SolverRollout,
)
from selfplay.rollout.runs import RepositoryRuns
from selfplay.rollout.scheduler import relaxed_gc
from selfplay.rollout.stored import with_file
from selfplay.sandbox.workers import Workers
from selfplay.update.batch.crediting import Credited
from selfplay.update.batch.figures import UpdateFigures

AT_ONCE, ENGINES, HOSTS = (512, 4096), 64, 4
ATTEMPTS = 8
"""At each new bug. One in nine episodes plants one, all of them new."""
SECONDS, MINUTES, STEPS = 20.0, 10.0, 2
MB = 1024


class HostOfNothing:
    """A host that waits and returns the trajectory it was opened with, as a valid bug or an attempt that failed."""

    def __init__(self) -> None:
        self._played: Trajectory | None = None

    async def open(self, played: Trajectory) -> None:
        self._played = played

    async def there(self) -> bool:
        return True

    async def inject(
        self, repository: str, number: int, known: frozenset[str], least: int, opponent: bool
    ) -> InjectorRollout:
        assert self._played is not None
        await asyncio.sleep(SECONDS)
        return with_file(Rollout(self._played, InjectorKey(repository, "removal", 0, number), planted(number)))

    async def solve(self, repository: str, files: BugFiles, number: int, least: int, opponent: bool) -> SolverRollout:
        assert self._played is not None and files.files
        await asyncio.sleep(SECONDS)
        key, failed = SolverKey(files.id, TRAINING, 0, number), SolverOutcome(False, "failing-tests", "", "", SECONDS)
        return with_file(Rollout(replace(self._played, role="solver"), key, failed))

    async def close(self) -> None:
        """It holds nothing."""


def planted(number: int) -> InjectorOutcome:
    """A valid bug, unlike all others."""
    diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n"
    artifact = Artifact(f"echo {number}\n", ("test_a.py",), "import sys\n", diff, diff.replace("a.py", "test_a.py"))
    bug = Bug(
        id=f"nowhere.{number}", strategy="removal", seed=0, source="nowhere", revision="r", commit="c",
        tree_hash="7" * 40,
        content_hash=artifact.content_hash(), fail_to_pass=("x",), pass_to_pass=("y",), policy="none",
    )  # fmt: skip
    return InjectorOutcome(
        "valid", "", SECONDS, tree_key=f"tree {number}", artifact=artifact, bug=bug, task_key=f"task {number}"
    )


class Unaudited:
    """The bugs of the pool, read and sent but not audited: an audit is a host's work in a sandbox."""

    def __init__(self, pool: Curriculum) -> None:
        self.ready: dict[str, Any] = {}
        self._pool = pool

    async def read(self, bugs: Set[str]) -> None:
        for bug in bugs - self.ready.keys():
            folder = self._pool.folder / "bugs" / bug
            self.ready[bug] = SimpleNamespace(bug=read_bug(folder)[0], folder=folder)

    async def promote(self, bugs: Set[str], most: int) -> None:
        """There are none of second order."""


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
        cpu, wall, episodes = asyncio.run(played(Path(folder), count))
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


async def played(folder: Path, count: int) -> tuple[float, float, int]:
    """The driver's core seconds and wall seconds for `STEPS` steps of some `count` episodes, and how many they were."""
    actors = [ray.remote(HostOfNothing).options(num_cpus=0, max_concurrency=count).remote() for _ in range(HOSTS)]
    engines = Engines([SimpleNamespace(state=_Call(State(0, None)), open=_Call(None), close=_Call(None))] * ENGINES)
    with ExitStack() as stack:
        pool, ledger = stack.enter_context(open_curriculum(folder)), stack.enter_context(open_ledger(folder))
        workers = stack.enter_context(Workers(os.cpu_count() or 1))
        stack.enter_context(relaxed_gc())
        hosts = Hosts(actors, await trajectory(), count // HOSTS, lambda name: frozenset(), 600.0)  # type: ignore[arg-type]
        await hosts.open()
        player = SimpleNamespace(name="none")
        shared: Any = SimpleNamespace(
            repository="nowhere", seats=None, workers=workers, player=player, policy=TRAINING, seed=0
        )
        config, say = asked(count // (1 + ATTEMPTS)), SILENT.say
        training = Training(
            config=config, pool=pool, ledger=ledger, repositories=Repositories.of(config, ledger, pool, say),
            runs={"nowhere": RepositoryRuns(shared, shared)}, bugs=Unaudited(pool),
            plays=hosts, engines=engines, learner=LearnsNothing(),
            chat=CHAT, vocabulary=None, watcher=SILENT,
        )  # fmt: skip
        watches = [asyncio.create_task(engines._watched(number)) for number in range(ENGINES)]
        cpu, wall = time.process_time(), time.monotonic()
        await training.run()
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
        episodes = len(pool.episodes.records()) + sum(1 for _ in pool.attempts.all())
        for watch in watches:
            watch.cancel()
        await hosts.close()
    return cpu, wall, episodes


def asked(members: int, **more: Any) -> TrainConfig:
    """A run whose every step is one injector group of `members`, and a solver group at each of its bugs."""
    found = {
        "source": "nowhere", "model": "none", "steps": STEPS, "play": {"context": 4096},
        "injector": {"groups": 1, "members": members}, "solver": {"bugs": 1, "attempts": ATTEMPTS},
        "recipe": {"filters": []}, "cluster": {},
    }  # fmt: skip
    return TrainConfig.model_validate(found | more)


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
