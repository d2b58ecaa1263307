"""What can succeed in a repository: who plays there, which strategies, and why none can. Found out before an episode is
played."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from selfplay.commands.order import Order
from selfplay.curriculum import Curriculum
from selfplay.errors import SelfplayError
from selfplay.formatting import Say
from selfplay.repository import Prepared, Suite
from selfplay.roles.injector.task import InjectorTask, Strategy
from selfplay.rollout.injector import Mix, mix_named, strategies_of
from selfplay.rollout.players import SCRIPTED, Player
from selfplay.rollout.scripted_player import ScriptedPlayer
from selfplay.sandbox import Backend
from selfplay.sandbox.retry import again
from selfplay.scripted.injector.impossible import impossible, too_few_tests
from selfplay.scripted.injector.repository_knowledge import known_of
from selfplay.scripted.injector.sources import Sources
from selfplay.scripted.injector.survey import Survey

PLAYED = "played_strategy"
"""The setting that says which strategy the episodes of a repository play, where the mix lost one."""


@dataclass(frozen=True)
class Chances:
    """`strategy`: what the episodes play, the mix without what cannot succeed. `left_out`: why, by strategy. `why_not`:
    why no episode can succeed; empty when one can."""

    strategy: Mix
    why_not: str = ""
    left_out: Mapping[Strategy, str] = field(default_factory=dict)


def player_for(
    order: Order,
    player: Player,
    prepared: Prepared,
    suite: Suite,
    say: Say,
    backend: Backend,
    lost: Callable[[SelfplayError], None] = lambda error: None,
) -> tuple[Player, Chances]:
    """Who plays in this repository, and the chances of the episodes. `lost`: told of each sandbox that was lost."""
    if order.policy not in SCRIPTED:
        least = order.thresholds
        few = too_few_tests(suite, least.min_passing_tests, least.min_failing_tests)
        return player, Chances(order.strategy, few)
    known = again(lambda: known_of(prepared, suite, backend, say=say), lost)
    return ScriptedPlayer(order.policy, known), scripted_chances(order, suite, known)


def scripted_chances(order: Order, suite: Suite, known: Survey | Sources) -> Chances:
    """The chances of the scripted injector, from what it knows about the repository."""
    asked = strategies_of(order.strategy)
    found = {strategy: impossible(_task(order, strategy, suite), known) for strategy in asked}
    possible = [strategy for strategy, why in found.items() if not why]
    if not possible:
        return Chances(order.strategy, "; ".join(dict.fromkeys(found.values())))
    left_out = {strategy: why for strategy, why in found.items() if why}
    return Chances(possible[0] if left_out else order.strategy, "", left_out)


def _task(order: Order, strategy: Strategy, suite: Suite) -> InjectorTask:
    least = order.thresholds
    return InjectorTask(
        strategy,
        order.seed,
        0,
        suite,
        min_passing_tests=least.min_passing_tests,
        min_changed_files=least.min_changed_files,
        min_failing_tests=least.min_failing_tests,
    )


def planned(order: Order, pool: Curriculum, chances: Chances, say: Say) -> Order:
    """The order with the strategy that its episodes play. Once an episode is stored, it is the strategy that was
    recorded before the first one, or the order's own in a run that recorded none: a resumed run plans as the one
    before."""
    if pool.episodes.finished(order.source):
        return replace(order, strategy=recorded_strategy(order, pool))
    pool.settle_repository(order.source, {PLAYED: chances.strategy})
    for strategy, why in chances.left_out.items():
        say(f"the strategy {strategy} is left out of the mix: {why}")
    return replace(order, strategy=chances.strategy)


def recorded_strategy(order: Order, pool: Curriculum) -> Mix:
    """What the stored episodes of a repository played."""
    return mix_named(pool.repository_setting(order.source, PLAYED, str, order.strategy))
