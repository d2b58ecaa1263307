"""From a source to a stored curriculum: what `selfplay curriculum` does, as one function over values."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from selfplay.commands import leftovers
from selfplay.commands.cost import Meter, cost_report
from selfplay.commands.make_bugs import Wanted, make_bugs
from selfplay.commands.solve import SolveWatcher, settle_attempts, solve_pool
from selfplay.commands.storing import keep_original
from selfplay.curriculum import Curriculum, Progress, open_curriculum
from selfplay.curriculum.summary import summarise, write_summary
from selfplay.curriculum.trust import Wish, allow
from selfplay.errors import SelfplayError
from selfplay.repository import Prepared, Suite, measure_suite, prepare
from selfplay.repository.hosts import host_names
from selfplay.repository.source import PathSource, parse_source
from selfplay.roles.injector.task import InjectorTask, Strategy
from selfplay.rollout.bug_record import Origin
from selfplay.rollout.injector import InjectorRun, Mix
from selfplay.rollout.losses import again
from selfplay.rollout.many import RolloutError, one_per_core, rare_collections
from selfplay.rollout.players import SCRIPTED, Player, ScriptedPlayer, player_named
from selfplay.rollout.promotion import PER_PARENT
from selfplay.rollout.solver import SolverRun
from selfplay.sandbox import Backend
from selfplay.sandbox.pool import Pool
from selfplay.sandbox.workers import Workers
from selfplay.scripted.injector.impossible import impossible
from selfplay.scripted.injector.survey import Survey, survey_of
from selfplay.validators import Thresholds


@dataclass(frozen=True)
class Order:
    """What the user asked for. `setup` and `test` override what is detected; `workers` None means one per core.

    `patience`: the run stops after this many episodes in a row without a new bug. `options`: the policy's, by name.
    `order` 2 also makes `attempts` at every bug, and second-order bugs from the failed ones, at most `per_parent` per
    bug. `public_share`: the share of F2P that solvers are shown. `allow_hosts`: where builds may go besides the package
    indexes.
    """

    source: str
    out: Path
    bugs: int = 10
    strategy: Mix = "mix"
    seed: int = 0
    workers: int | None = None
    releases: int = 12
    setup: str | None = None
    test: str | None = None
    thresholds: Thresholds = field(default_factory=Thresholds)
    policy: str = "scripted"
    options: Mapping[str, str] = field(default_factory=dict)
    patience: int = 40
    order: Literal[1, 2] = 1
    attempts: int = 8
    per_parent: int = PER_PARENT
    public_share: float = 1.0
    allow_hosts: tuple[str, ...] = ()


class Watcher(SolveWatcher, Protocol):
    """Receives the progress of the run."""

    def step(self, step: Progress) -> None:
        """An episode is finished and stored."""
        ...


def run_campaign(order: Order, backend: Backend, watcher: Watcher) -> dict[str, Any]:
    """Make or resume the curriculum in `order.out`. Returns the summary, also written to `summary.json`.

    Raises `SelfplayError` for what the user can fix; a partial run is kept and resumes.
    """
    _refuse_out_in_source(order)
    _refuse_strategy(order)
    host_names(order.allow_hosts)
    player = player_named(order.policy, order.options)
    with ExitStack() as stack:
        pool = stack.enter_context(open_curriculum(order.out))
        leftovers.sweep(order.out)
        meter = Meter(pool)
        pool.settle({**_settings(order), **player.settings})
        if order.order == 2:
            settle_attempts(pool, player.name, player)
        runner = stack.enter_context(asyncio.Runner())
        stack.callback(lambda: runner.run(player.close()))
        runner.run(player.open(watcher.say))
        prepared, suite = _prepared(order, pool, backend, watcher)
        meter.begin("bugs")
        why_not = ""
        if order.policy in SCRIPTED:
            survey = again(lambda: survey_of(prepared, suite, backend, say=watcher.say), pool.lost.count_again)
            player = ScriptedPlayer(order.policy, survey)
            why_not = _impossible(order, suite, survey)
        reason = why_not or "interrupted"
        try:
            if not why_not:
                watcher.expect(order.bugs, "making bugs")
                reason = runner.run(_played(order, pool, prepared, suite, backend, player, watcher, meter))
        except SelfplayError as error:
            reason = error.message
            raise
        finally:
            meter.store()
            facts = {**_facts(order, prepared, suite, reason), **summarise(pool)}
            summary = {**facts, "cost": cost_report(pool, suite)}
            write_summary(order.out, summary)
    return summary


def _prepared(order: Order, pool: Curriculum, backend: Backend, watcher: Watcher) -> tuple[Prepared, Suite]:
    """The repository and its measured suite. Runs in the main thread, outside the event loop, so that Ctrl-C ends
    it."""
    lost = pool.lost.count_again
    prepared = again(
        lambda: prepare(
            order.source,
            backend=backend,
            releases=order.releases,
            setup=order.setup,
            allow_hosts=order.allow_hosts,
            progress=watcher.say,
        ),
        lost,
    )
    _refuse_unknown_language(order, prepared)
    pool.settle({"revision": prepared.revision, "tree_hash": prepared.tree_hash})
    _allow(order, prepared)
    suite = again(
        lambda: measure_suite(
            prepared, backend, time_limit=order.thresholds.seconds, command=order.test, progress=watcher.say
        ),
        lost,
    )
    pool.record_repository(order.source, {"revision": prepared.revision, "language": prepared.language})
    keep_original(prepared, order.out / "original", anew=not pool.episodes.any_stored(), backend=backend)
    return prepared, suite


def _allow(order: Order, prepared: Prepared) -> None:
    """Remember what the user just asked for, so that this run's bugs can be checked later without asking again."""
    typed = {"setup": order.setup or "", "hosts": " ".join(prepared.recorded.get("allow_hosts", ()))}
    for kind, text in {**typed, "source": prepared.source}.items():
        if text:
            allow(Wish(kind, text, prepared.tree_hash))


async def _played(
    order: Order,
    pool: Curriculum,
    prepared: Prepared,
    suite: Suite,
    backend: Backend,
    player: Player,
    watcher: Watcher,
    meter: Meter,
) -> str:
    """Make the bugs and, if asked, attempt them. Returns why no more bugs were made."""
    seats = Pool(backend)
    with Workers(one_per_core(order.workers)) as workers, rare_collections():
        run = InjectorRun(
            repository=order.source,
            origin=Origin(prepared, order.thresholds, order.seed, order.public_share, dict(prepared.recorded)),
            suite=suite,
            strategy=order.strategy,
            player=player,
            pool=seats,
            workers=workers,
            is_known=lambda key: key in pool.episodes.tree_keys(order.source),
        )
        wanted = Wanted(order.bugs, order.patience)
        places = player.episodes or workers.count
        reason = await make_bugs(run, pool, wanted, places, watcher.step, meter)
        if order.order == 2 and pool.episodes.count():
            solving = SolverRun(prepared, player.name, player, seats, workers, order.seed)
            meter.begin("second_order")
            await solve_pool(solving, pool, order.attempts, order.per_parent, None, watcher)
    return reason


def _refuse_out_in_source(order: Order) -> None:
    """When the source is a plain folder, everything in it belongs to the source: writing the run there would change
    it."""
    source = parse_source(order.source)
    if not isinstance(source, PathSource) or (source.path / ".git").exists():
        return
    if order.out.resolve().is_relative_to(source.path.resolve()):
        raise RolloutError(f"{order.out} lies inside the source {source}", "Give an --out outside of it.")


def _refuse_strategy(order: Order) -> None:
    if order.policy in SCRIPTED and order.strategy == "feature":
        raise RolloutError("the scripted injector adds no features", "Name a model with --policy, or another strategy.")


def _refuse_unknown_language(order: Order, prepared: Prepared) -> None:
    if prepared.language != "python" and order.policy in SCRIPTED:
        raise RolloutError(
            f"{prepared.source} is a {prepared.language} repository, and the scripted injector knows Python alone",
            "Its artifacts can be checked with `selfplay validate`; planting bugs in it needs another policy.",
        )


def _impossible(order: Order, suite: Suite, survey: Survey) -> str:
    """Why no episode of the scripted injector can succeed here; empty when one can."""
    asked: tuple[Strategy, ...] = ("removal", "history") if order.strategy == "mix" else (order.strategy,)
    least = order.thresholds
    reasons = [
        impossible(
            InjectorTask(
                strategy,
                order.seed,
                0,
                suite,
                min_passing_tests=least.min_passing_tests,
                min_changed_files=least.min_changed_files,
                min_failing_tests=least.min_failing_tests,
            ),
            survey,
        )
        for strategy in asked
    ]
    return "; ".join(dict.fromkeys(reasons)) if all(reasons) else ""


def _settings(order: Order) -> dict[str, Any]:
    """The settings that fix a run's bugs: resuming with other values would mix two curricula."""
    return {
        "source": order.source,
        "strategy": order.strategy,
        "seed": order.seed,
        "policy": order.policy,
        "releases": order.releases,
        "setup": order.setup,
        "allow_hosts": list(host_names(order.allow_hosts)),
        "test": order.test,
        "thresholds": order.thresholds.to_json(),
        "public_share": order.public_share,
    }


def _facts(order: Order, prepared: Prepared, suite: Suite, reason: str) -> dict[str, Any]:
    return {
        "source": prepared.source,
        "revision": prepared.revision,
        "commit": prepared.commit,
        "tree_hash": prepared.tree_hash,
        "language": prepared.language,
        "notes": list(prepared.notes),
        "wanted": order.bugs,
        "stopped": reason,
        "suite": {
            "tests": len(suite.seconds),
            "files": len(suite.files),
            "wall_seconds": round(suite.wall_seconds, 3),
            "failing_at_head": list(suite.failing),
            "flaky_at_head": list(suite.flaky),
            "left_out_files": list(suite.left_out),
        },
    }
