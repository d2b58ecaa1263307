"""The user's order for `selfplay train`, and the curriculum order that it implies."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from selfplay.commands.order import Order
from selfplay.loop.config import TrainConfig
from selfplay.loop.sources import Repository
from selfplay.repository import Prepared, Suite
from selfplay.rollout.bug_record import Origin
from selfplay.rollout.injector import InjectorRun
from selfplay.rollout.players import Player
from selfplay.rollout.runs import RepositoryRuns
from selfplay.rollout.solver import SolverRun
from selfplay.sandbox import Isolation
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers
from selfplay.validators import Thresholds

Known = Callable[[str], frozenset[str]]
"""The tree keys of a repository's bugs in the pool."""


@dataclass(frozen=True)
class TrainOrder:
    """What the user asked for. `out`: a run's folder, new or from `selfplay curriculum` on the same sources; then the
    solver also trains on its bugs. `isolation`: of a cluster's hosts; `address`: of a running Ray cluster; None starts
    one here."""

    config: TrainConfig
    out: Path
    isolation: Isolation = field(default_factory=Isolation)
    address: str | None = None


def curriculum_order(order: TrainOrder, repository: Repository) -> Order:
    """The order for a curriculum of one repository with the same injector."""
    config, how = order.config, order.config.injector
    return Order(
        repository.source,
        order.out,
        strategy=how.strategy,
        seed=config.seed,
        workers=config.workers,
        setup=repository.setup,
        test=repository.test,
        thresholds=Thresholds(
            min_passing_tests=how.min_passing, min_changed_files=how.min_files, min_failing_tests=how.min_failing
        ),
        policy=config.played_by,
        options=config.options,
        group=how.members,
        believable=how.believable,
    )


def repository_runs(
    wanted: Order, prepared: Prepared, suite: Suite, player: Player, seats: SandboxPool, workers: Workers, policy: str
) -> RepositoryRuns:
    """What the episodes of both roles share in one repository, in any process. `policy`: the name under which attempts
    are filed."""
    injecting = InjectorRun(
        repository=wanted.source,
        origin=Origin(prepared, wanted.thresholds, wanted.seed, wanted.public_share, dict(prepared.recorded)),
        suite=suite,
        strategy=wanted.strategy,
        player=player,
        seats=seats,
        workers=workers,
        group=wanted.group,
        rules=wanted.rules,
    )
    return RepositoryRuns(injecting, SolverRun(prepared, policy, player, seats, workers, wanted.seed, weak="refuse"))
