"""A list of sources on a Ray cluster: every host makes the bugs of one repository after the other.

Only the driver writes the run's folder. A host prepares a repository, plays its episodes and checks their artifacts, so
an environment is built once per node. If a host dies, another one prepares the repository again and plays what is not
stored.
"""

import asyncio
import io
import tarfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from selfplay.cluster.actor_calls import all_of
from selfplay.cluster.actors import host_actors
from selfplay.cluster.errors import ClusterError
from selfplay.cluster.host import HostRuns, once_each
from selfplay.cluster.hosts import Hosts
from selfplay.cluster.ray_session import every_core, joined
from selfplay.commands.chances import Chances, planned, player_for, recorded_strategy
from selfplay.commands.cost import CostMeter
from selfplay.commands.curricula import Ends, Make
from selfplay.commands.curriculum import CurriculumWatcher, allow_typed, measured_here, prepared_here
from selfplay.commands.event_loop import EventLoop
from selfplay.commands.injections import Injector, play_injection
from selfplay.commands.make_bugs import BugsWanted, make_bugs
from selfplay.commands.order import Order, repository_settings
from selfplay.commands.storing import keep_original
from selfplay.commands.training.request import repository_runs
from selfplay.curriculum import Curriculum, RunProgress
from selfplay.formatting import count
from selfplay.loop.machine import Cluster
from selfplay.repository import Prepared, Suite, write_original
from selfplay.rollout.injector import strategies_of, strategy_of
from selfplay.rollout.players import player_named
from selfplay.rollout.rollout import InjectorKey, InjectorRollout
from selfplay.rollout.runs import RepositoryRuns
from selfplay.rollout.scheduler import relaxed_gc
from selfplay.sandbox import Backend, Isolation, SandboxLost
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.owners import scratch
from selfplay.sandbox.workers import Workers

SECONDS = 7200.0
"""How long a host may take to prepare a repository, or for one episode with its checks."""
TRIES = 3
"""How many hosts may die while they prepare one repository."""


def on_ray(base: Order, isolation: Isolation, address: str, watcher: CurriculumWatcher) -> Make:
    """Makes the bugs on all nodes of the cluster at `address`."""

    def make(pool: Curriculum, orders: Sequence[Order]) -> None:
        watcher.say(f"joining Ray at {address}")
        with joined(Cluster(), address), EventLoop() as runner:
            runner.run(_made(base, orders, isolation, pool, watcher))

    return make


async def _made(
    base: Order, orders: Sequence[Order], isolation: Isolation, pool: Curriculum, watcher: CurriculumWatcher
) -> None:
    """Make the bugs of all repositories, as many at once as there are hosts."""
    wanted, ends = every_core(), Ends(pool, watcher.say)
    async with AsyncExitStack() as stack:
        watcher.say(f"opening hosts: {wanted.hosts}, of {count(wanted.host_cpus, 'core')} each")
        opening = partial(_opened, base, _begun(orders, pool), isolation, wanted.host_cpus)
        hosts = Hosts(host_actors(wanted), opening, wanted.host_episodes, pool.episodes.keys, SECONDS)
        stack.push_async_callback(hosts.close)
        await hosts.open()
        lines = asyncio.Semaphore(wanted.hosts)

        async def one(order: Order) -> None:
            async with lines:
                meter = CostMeter(pool, order.source, lambda: 0.0)
                try:
                    ends.ended(order, await _repository(order, hosts, wanted.host_episodes, pool, watcher, meter))
                except Exception as error:  # an error of one repository does not end the others
                    ends.failed(order, error)
                finally:
                    meter.store()

        await all_of([one(order) for order in orders])


async def _repository(
    order: Order, hosts: Hosts, places: int, pool: Curriculum, watcher: CurriculumWatcher, meter: CostMeter
) -> str:
    """Make the bugs of one repository. Returns why no more were made."""
    name, say = order.source, watcher.say
    pool.settle_repository(name, repository_settings(order))
    say(f"{name} is being prepared")
    about = await _prepared(hosts, name)
    pool.settle_repository(name, {"revision": about.revision, "tree_hash": about.tree_hash})
    allow_typed(order, about.tree_hash, about.source, about.hosts)
    pool.record_repository(name, {"revision": about.revision, "language": about.language, "tests": about.tests})
    anew = not pool.episodes.finished(name)
    await asyncio.to_thread(keep_original, about.write, pool.episodes.original(name), anew)
    if about.chances.why_not:
        return about.chances.why_not
    order = planned(order, pool, about.chances, say)

    async def play(number: int) -> InjectorRollout:
        found = await hosts.inject(name, number, 0)
        if found.outcome.bug is not None and found.outcome.bug.tree_hash != about.tree_hash:
            raise ClusterError(f"{name} is not the same on every machine", "Name a revision in the list.")
        return found

    def key(number: int) -> InjectorKey:
        """The key of an episode that could not be played; without a seed location, since the driver has no tree."""
        return InjectorKey(name, strategy_of(order.strategy, order.seed, number // order.group), order.seed, number)

    def told(step: RunProgress) -> None:
        result = step.result
        said = f": {result.reason}" if result.reason else ""
        say(f"{name}: episode {result.number} ({result.strategy}) {result.status}{said}; bugs: {step.bugs}")

    wanted = BugsWanted(order.bugs, order.patience, strategies_of(order.strategy), order.minutes)
    return await make_bugs(Injector(name, order.policy, play, key), pool, wanted, places, told, meter, None)


Begun = dict[str, tuple[Order, bool]]
"""Repository -> its order, and whether its strategy is that of the run before."""


def _begun(orders: Sequence[Order], pool: Curriculum) -> Begun:
    """The orders for the hosts: of a repository with a stored episode with the strategy of the run before."""
    before = {order.source: bool(pool.episodes.finished(order.source)) for order in orders}
    played = [replace(one, strategy=recorded_strategy(one, pool)) if before[one.source] else one for one in orders]
    return {one.source: (one, before[one.source]) for one in played}


async def _prepared(hosts: Hosts, name: str) -> "About":
    """A host's facts about the repository. If the host dies, another one tries, a few times."""
    for left in reversed(range(TRIES)):
        try:
            found = await hosts.prepare(name)
            assert isinstance(found, About)
            return found
        except SandboxLost:
            if not left:
                raise
    raise AssertionError


@dataclass(frozen=True)
class About:
    """The driver's facts about a repository. `hosts`: the network hosts that its build may reach; `why_not`: why no
    episode can succeed; `original`: its tree as a tar archive."""

    source: str
    revision: str
    tree_hash: str
    language: str
    hosts: tuple[str, ...]
    tests: int
    chances: Chances
    original: bytes

    def write(self, folder: Path) -> None:
        """Write the tree into a new folder."""
        with tarfile.open(fileobj=io.BytesIO(self.original)) as archive:
            archive.extractall(folder, filter="data")


async def _opened(base: Order, orders: Begun, isolation: Isolation, threads: int) -> HostRuns:
    """Open a host. A repository is prepared, measured and surveyed on first use."""
    backend = isolation.opened()
    seats = SandboxPool(backend)
    player = player_named(base.policy, base.options)
    await player.open(lambda line: None)
    relaxed_gc().__enter__()  # until the process ends
    workers = Workers(threads).__enter__()
    told: dict[str, About] = {}

    def prepared(name: str) -> RepositoryRuns:
        order, as_before = orders[name]
        found, suite = _measured(order, backend)
        here, chances = player_for(order, player, found, suite, lambda line: None, backend)
        told[name] = _about(found, suite, chances, backend)
        order = order if as_before else replace(order, strategy=chances.strategy)
        return repository_runs(order, found, suite, here, seats, workers, base.policy)

    async def runs_of(name: str) -> RepositoryRuns:
        return await asyncio.to_thread(prepared, name)

    async def about(name: str) -> About:
        await of(name)
        return told[name]

    of = once_each(runs_of)
    return HostRuns(of, play_injection, player.close, about=about)


def _measured(order: Order, backend: Backend) -> tuple[Prepared, Suite]:
    """The repository and its suite, on this machine."""
    prepared = prepared_here(order, backend)
    return prepared, measured_here(order, prepared, backend)


def _about(prepared: Prepared, suite: Suite, chances: Chances, backend: Backend) -> About:
    with scratch() as folder:
        tree = folder / "tree"
        write_original(prepared, tree, backend)
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as archive:
            archive.add(tree, ".")
    hosts = tuple(prepared.recorded.get("allow_hosts", ()))
    about: dict[str, Any] = {name: getattr(prepared, name) for name in ("source", "revision", "tree_hash", "language")}
    return About(**about, hosts=hosts, tests=len(suite.seconds), chances=chances, original=data.getvalue())
