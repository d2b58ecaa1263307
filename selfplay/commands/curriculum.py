"""From a source to a stored curriculum: what `selfplay curriculum` does, as one function over values."""

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from selfplay.commands import cleanup
from selfplay.commands.chances import planned, player_for
from selfplay.commands.cost import CostMeter, cost_report
from selfplay.commands.event_loop import EventLoop
from selfplay.commands.injections import injector_of
from selfplay.commands.make_bugs import BugsWanted, make_bugs
from selfplay.commands.order import (
    Order,
    refuse_out_in_source,
    refuse_strategy,
    refuse_unknown_language,
    refuse_unmeasured,
    settings_of,
)
from selfplay.commands.shared_run import say_if_shared
from selfplay.commands.solve import SolveWatcher, settle_attempts, solve_pool
from selfplay.commands.storing import keep_original
from selfplay.curriculum import Curriculum, RunProgress, open_curriculum
from selfplay.curriculum.summary import summarise, write_summary
from selfplay.curriculum.trust import Wish, allow
from selfplay.errors import SelfplayError
from selfplay.formatting import Say, count, listed, shortened, spoken
from selfplay.patches.classify import is_test_file
from selfplay.repository import MeasuredRepository, NoTests, Prepared, Suite, measure_suite, prepare, write_original
from selfplay.repository.network.hosts import host_names
from selfplay.rollout.bug_record import Origin
from selfplay.rollout.injector import InjectorRun, strategies_of
from selfplay.rollout.players import SCRIPTED, Player, player_named
from selfplay.rollout.retries import idle_check_in
from selfplay.rollout.scheduler import one_per_core, relaxed_gc
from selfplay.rollout.solver import SolverRun
from selfplay.sandbox import Backend
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.retry import again
from selfplay.sandbox.workers import Workers

RUNS_OF_A_BUG, SURVEY_RUNS, FIXED_SECONDS = 7.0, 3.0, 8.0
"""For the estimate: suite runs per bug, suite runs for the survey, and other seconds per bug."""


class CurriculumWatcher(SolveWatcher, Protocol):
    """Receives the progress of the run."""

    def step(self, step: RunProgress) -> None:
        """An episode is finished and stored."""
        ...


def run_curriculum(order: Order, backend: Backend, watcher: CurriculumWatcher) -> dict[str, Any]:
    """Make or resume the curriculum in `order.out`. Returns the summary, also written to `summary.json`.

    Raises `SelfplayError` for what the user can fix; a partial run is kept and resumes.
    """
    refuse_out_in_source(order)
    refuse_strategy(order)
    host_names(order.allow_hosts)
    player = player_named(order.policy, order.options)
    with ExitStack() as stack:
        pool = stack.enter_context(open_curriculum(order.out))
        cleanup.sweep(order.out)
        say_if_shared(order.out, watcher.say)
        meter = CostMeter(pool)
        pool.settle({**settings_of(order), **player.settings})
        if order.order == 2:
            settle_attempts(pool, player.name, player, order.attempts)
        runner = stack.enter_context(EventLoop())
        stack.callback(lambda: runner.run(player.close()))
        runner.run(player.open(watcher.say))
        prepared, suite = repository = prepared_source(order, pool, backend, watcher)
        meter.begin("bugs")
        player, chances = player_for(order, player, prepared, suite, watcher.say, backend, pool.lost.count_again)
        reason = chances.why_not or "interrupted"
        try:
            if not chances.why_not:
                order = planned(order, pool, chances, watcher.say)
                watcher.expect(order.bugs, "making bugs", min(order.bugs, pool.episodes.count(order.source)))
                reason = runner.run(played(order, pool, repository, backend, player, watcher, meter))
        except SelfplayError as error:
            reason = error.message
            raise
        finally:
            meter.store()
            facts = {**_facts(order, prepared, suite, reason), **summarise(pool)}
            summary = {**facts, "cost": cost_report(pool, suite)}
            write_summary(order.out, summary)
    return summary


def prepared_source(order: Order, pool: Curriculum, backend: Backend, watcher: CurriculumWatcher) -> MeasuredRepository:
    """The repository and its measured suite. Runs in the main thread, outside the event loop, so that Ctrl-C ends
    it."""
    lost = pool.lost.count_again
    prepared = prepared_here(order, backend, watcher.say, lost)
    pool.settle_repository(order.source, {"revision": prepared.revision, "tree_hash": prepared.tree_hash})
    told = prepared.recorded
    allow_typed(order, prepared.tree_hash, prepared.source, told.get("allow_hosts", ()), told.get("image", ""))
    suite = measured_here(order, prepared, backend, watcher.say, lost)
    watcher.say(estimate(suite, order))
    pool.record_repository(
        order.source,
        {"revision": prepared.revision, "language": prepared.language, "tests": len(suite.seconds)},
    )
    anew, target = not pool.episodes.finished(order.source), pool.episodes.original(order.source)
    again(lambda: keep_original(lambda place: write_original(prepared, place, backend), target, anew), lost)
    return MeasuredRepository(prepared, suite)


def estimate(suite: Suite, order: Order) -> str:
    """How long the run will take, from one run of the suite, and which tests are left out."""
    if suite.why:
        return f"the suite is not measured, and the policy has to find the tests itself: {suite.why}"
    bug = FIXED_SECONDS + suite.wall_seconds * RUNS_OF_A_BUG
    seconds = SURVEY_RUNS * suite.wall_seconds + order.bugs * bug / one_per_core(order.workers)
    parts = {"failing": suite.failing, "varying": suite.flaky, "left out": suite.left_out}
    out = "; ".join(f"{kind}: {listed(map(shortened, names), 3)}" for kind, names in parts.items() if names)
    passing = count(len(suite.seconds), "test passes", "tests pass")
    return (
        f"{passing} in {spoken(suite.wall_seconds)}{f' ({out})' if out else ''}: "
        f"{count(order.bugs, 'bug')} may take {spoken(max(60.0, seconds))}"
    )


def prepared_here(
    order: Order,
    backend: Backend,
    say: Say = lambda line: None,
    lost: Callable[[SelfplayError], None] = lambda error: None,
) -> Prepared:
    """The repository, prepared on this machine, again after each lost sandbox; `lost` is called for each."""
    return again(
        lambda: prepare(
            order.source,
            backend=backend,
            releases=order.releases,
            setup=order.setup,
            allow_hosts=order.allow_hosts,
            progress=say,
            known=partial(refuse_unknown_language, order),
            fits=partial(refuse_unmeasured, order),
        ),
        lost,
    )


def measured_here(
    order: Order,
    prepared: Prepared,
    backend: Backend,
    say: Say = lambda line: None,
    lost: Callable[[SelfplayError], None] = lambda error: None,
) -> Suite:
    """The suite, measured on this machine. A model can do without, and finds the tests itself, if the suite cannot be
    measured here. Raises `NoTests` also for a model where a Python tree has no file of tests: it would find none."""
    try:
        return again(
            lambda: measure_suite(
                prepared, backend, time_limit=order.thresholds.seconds, command=order.test, progress=say
            ),
            lost,
        )
    except NoTests as error:
        if order.policy in SCRIPTED or (prepared.language == "python" and not holds_tests(prepared.tree)):
            raise
        return Suite((), {}, language=prepared.language, runner="", why=error.message)


def holds_tests(tree: Path) -> bool:
    """Whether a tree has a Python file that is a test by its path, whatever runs it."""
    return any(
        name.endswith(".py") and is_test_file(Path(folder, name).relative_to(tree).as_posix())
        for folder, _, names in os.walk(tree) for name in names
    )  # fmt: skip


def allow_typed(order: Order, tree_hash: str, source: str, hosts: Iterable[str], image: str = "") -> None:
    """Remember what the user just allowed, so that this run's bugs can be checked later without asking again."""
    typed = {"setup": order.setup or "", "hosts": " ".join(hosts), "source": source, "image": image}
    for kind, text in typed.items():
        if text:
            allow(Wish(kind, text, tree_hash))


async def played(
    order: Order,
    pool: Curriculum,
    repository: MeasuredRepository,
    backend: Backend,
    player: Player,
    watcher: CurriculumWatcher,
    meter: CostMeter,
) -> str:
    """Make the bugs of a repository and, if asked, attempt them. Returns why no more bugs were made."""
    (prepared, suite), seats = repository, SandboxPool(backend)
    with Workers(one_per_core(order.workers)) as workers, relaxed_gc():
        run = InjectorRun(
            repository=order.source,
            origin=Origin(prepared, order.thresholds, order.seed, order.public_share, dict(prepared.recorded)),
            suite=suite,
            strategy=order.strategy,
            player=player,
            seats=seats,
            workers=workers,
            is_known=lambda key: key in pool.episodes.keys(order.source),
            group=order.group,
            rules=order.rules,
        )
        wanted = BugsWanted(order.bugs, order.patience, strategies_of(order.strategy), order.minutes)
        places = player.episodes or workers.count
        idle_check = idle_check_in(seats, workers)
        reason = await make_bugs(injector_of(run), pool, wanted, places, watcher.step, meter, idle_check)
        if order.order == 2 and pool.episodes.count(order.source):
            solving = SolverRun(prepared, player.name, player, seats, workers, order.seed)
            meter.begin("second_order")
            first = [bug for bug in pool.bugs() if bug.order == 1]  # only these are attempted, not those of other runs
            own = frozenset(bug.id for bug in first if bug.tree_hash == prepared.tree_hash)
            await solve_pool(solving, pool, order.attempts, order.per_parent, own, watcher)
    return reason


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
