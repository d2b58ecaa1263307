"""What `selfplay solve` does, on values: attempt the bugs of a run and make second-order bugs.

Every bug's world is searched for copies of the answer before a solver sees it; a leaking bug is left out, and so is one
whose world cannot be audited, unless the order allows it.
"""

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from selfplay.artifact import ArtifactError, Bug
from selfplay.commands import cleanup
from selfplay.commands.attemptable_bugs import ready_bugs
from selfplay.commands.attempts import AttemptPlay, missing, play_attempts, unfinished
from selfplay.commands.event_loop import EventLoop
from selfplay.commands.limited_lines import MOST_LINES
from selfplay.commands.promoting import promoted
from selfplay.commands.ranges import refuse_outside
from selfplay.commands.shared_run import say_if_shared
from selfplay.curriculum import Attempt, Curriculum, CurriculumError, open_existing
from selfplay.curriculum.stored_bugs import original_of, rebuilt, wishes
from selfplay.curriculum.summary import read_summary, summarise, write_summary
from selfplay.curriculum.trust import require
from selfplay.errors import SelfplayError
from selfplay.formatting import Say, count, listed
from selfplay.oracle.assurance import Weak
from selfplay.repository import Prepared
from selfplay.rollout.controls import CONTROLS, control_named
from selfplay.rollout.players import Player, player_named
from selfplay.rollout.scheduler import one_per_core, relaxed_gc
from selfplay.rollout.scripted_player import ScriptedPlayer
from selfplay.rollout.solver import SolverRun
from selfplay.sandbox import Backend
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.retry import again
from selfplay.sandbox.workers import Workers


@dataclass(frozen=True)
class SolveOrder:
    """What the user asked for. `policy` names a player or a control (`gold`, `empty`); `per_parent` above 0 asks for
    second-order bugs, at most that many per bug. `workers` None means one per core. `options`: the policy's, by name.
    `name`: the name for its attempts, None for the policy's own name. `bugs`: the bugs to attempt, each by its
    id or a unique prefix of it; all if empty. `trust`: allow what the run wants to run or fetch. `unauditable`:
    also attempt bugs whose worlds cannot be audited. `weak`: how weakly assured grades are treated. Raises
    `RolloutError` for a number outside of its range."""

    run: Path
    attempts: int = 8
    policy: str = "scripted"
    per_parent: int = 0
    workers: int | None = None
    counterfactual: bool = True
    options: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    bugs: tuple[str, ...] = ()
    trust: bool = False
    unauditable: bool = False
    weak: Weak = "count"

    def __post_init__(self) -> None:
        refuse_outside(self)


class SolveWatcher(Protocol):
    """Receives the progress of the run."""

    def say(self, line: str) -> None:
        """A line that a user may want to read while waiting."""
        ...

    def expect(self, total: int, doing: str = ..., done: int = ...) -> None:
        """A phase with `total` steps begins, of which an earlier run did `done`."""
        ...

    def attempt(self, attempt: Attempt) -> None:
        """An attempt is finished and stored."""
        ...


def run_solve(order: SolveOrder, backend: Backend, watcher: SolveWatcher) -> dict[str, Any]:
    """Attempt the bugs of a run, or resume attempting them. Returns the summary, also written to `summary.json`.

    Raises `SelfplayError` for what the user can fix; what was stored is kept, and the same command resumes.
    """
    if order.name in CONTROLS or (order.name and order.policy in CONTROLS):
        raise CurriculumError("only a control's attempts may have the control's name", "Give another --name.")
    control = order.policy in CONTROLS
    player: Player = ScriptedPlayer(order.policy) if control else player_named(order.policy, order.options)
    policy = _filed_under(order, player)
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(open_existing(order.run))
        cleanup.sweep(order.run)
        say_if_shared(order.run, watcher.say)
        if not pool.bugs():
            raise CurriculumError(f"{order.run} has no bug yet", "Run `selfplay curriculum` first.")
        wanted = chosen(pool, order.bugs)
        if not control:
            settle_attempts(pool, policy, player, 0 if order.bugs else order.attempts)
        runner = stack.enter_context(EventLoop())
        stack.callback(lambda: runner.run(player.close()))
        if unfinished(pool, policy, wanted or pool.orders(), order.attempts):
            runner.run(player.open(watcher.say))  # before everything that takes long: it fails early
        known, failed = read_summary(order.run), list[SelfplayError]()
        ready, why = 0, list[str]()
        try:
            for original, first, some in origins(pool, wanted):
                rebuilt = partial(_prepared, original, first, backend, order.trust)
                try:
                    prepared = again(rebuilt, pool.lost.count_again)
                except SelfplayError as error:  # the bugs of the other repositories can still be attempted
                    watcher.say(f"the bugs of {first.source} are left out: {error.message}")
                    failed.append(error)
                    continue
                found, said = runner.run(_solved(order, some, player, prepared, pool, backend, watcher))
                ready, why = ready + found, [*why, *said]
        finally:
            summary = {**known, **summarise(pool)}
            write_summary(order.run, summary)
        if failed:
            raise failed[0]
        if not ready:
            raise CurriculumError(f"no bug of {order.run} could be attempted", "\n  ".join(why[:MOST_LINES]))
    return summary


def _filed_under(order: SolveOrder, player: Player) -> str:
    """The name of the attempts."""
    return order.name or player.name


def chosen(pool: Curriculum, named: Sequence[str]) -> frozenset[str] | None:
    """The ids of the named bugs, each named by its id or a unique prefix of it; None for all bugs.

    Raises `CurriculumError` for a name that matches no bug or several."""
    if not named:
        return None
    ids = list(pool.orders())
    return frozenset(_one_bug(name, ids) for name in named)


def _one_bug(name: str, ids: Sequence[str]) -> str:
    found = [name] if name in ids else [id for id in ids if name and id.startswith(name)]
    if not found:
        raise CurriculumError(f"the run has no bug {name!r}", f"Its bugs are {listed(ids)}.")
    if len(found) > 1:
        raise CurriculumError(
            f"{name!r} is the beginning of {count(len(found), 'bug')}", f"Say which: {listed(found)}."
        )
    return found[0]


def settle_attempts(pool: Curriculum, name: str, player: Player, planned: int) -> None:
    """Record which policy makes the attempts filed under `name`, and its settings. Raises `CurriculumError` if attempts
    of another policy are filed there.

    Settings that only affect how bugs are planted (`staged`) may differ. `planned`: attempts for each bug of the pool,
    recorded for `credit`; 0 where only some bugs are attempted."""
    how = {key: value for key, value in player.settings.items() if key != "staged"}
    pool.settle_attempts(name, {"policy": player.name, **how})
    if planned:
        pool.plan_attempts(name, planned)


def origins(pool: Curriculum, wanted: frozenset[str] | None) -> list[tuple[Path, Bug, frozenset[str]]]:
    """(original, one of its bugs, its bugs to attempt) for each tree and environment of a pool; the original may be
    gone."""
    trees = pool.episodes.originals()
    found: dict[tuple[str, str], tuple[Path, Bug, set[str]]] = {}
    for bug in pool.bugs():
        if wanted is not None and bug.id not in wanted:
            continue
        original = original_of(pool.folder, bug, trees) or trees.get(bug.tree_hash, pool.folder / "original")
        key = (bug.tree_hash, json.dumps(dict(bug.environment), sort_keys=True) if bug.imported else "")
        found.setdefault(key, (original, bug, set()))[2].add(bug.id)
    return [(original, bug, frozenset(ids)) for original, bug, ids in found.values()]


def _prepared(original: Path, bug: Bug, backend: Backend, trust: bool) -> Prepared:
    if not original.is_dir():
        raise ArtifactError(f"{original} is gone", "The bugs were planted in it: make the run again, or restore it.")
    require(wishes(bug, fetched=False), trust)
    return rebuilt(original, bug, backend)


async def _solved(
    order: SolveOrder,
    wanted: frozenset[str],
    player: Player,
    prepared: Prepared,
    pool: Curriculum,
    backend: Backend,
    watcher: SolveWatcher,
) -> tuple[int, list[str]]:
    """Attempt the bugs of one original. Returns how many could be attempted, and what was said of the others."""
    why: list[str] = []

    def say(line: str) -> None:
        why.append(line)
        watcher.say(line)

    with Workers(one_per_core(order.workers)) as workers, relaxed_gc():
        run = SolverRun(
            prepared=prepared,
            policy=_filed_under(order, player),
            player=player,
            seats=SandboxPool(backend),
            workers=workers,
            seed=pool.setting("seed", int, 0),
            counterfactual=order.counterfactual,
            unauditable=order.unauditable,
            weak=order.weak,
        )
        ready = await solve_pool(run, pool, order.attempts, order.per_parent, wanted, watcher, say)
    return ready, why


async def solve_pool(
    run: SolverRun,
    pool: Curriculum,
    attempts: int,
    per_parent: int,
    wanted: frozenset[str] | None,
    watcher: SolveWatcher,
    say: Say | None = None,
) -> int:
    """Attempt the `wanted` bugs of an open pool (all if None), then make second-order bugs from the failed attempts, at
    most `per_parent` per bug. `say`: told why a bug is left out, if not the watcher. Returns how many bugs could be
    attempted."""
    bugs = await ready_bugs(run, pool, wanted, say or watcher.say)
    jobs = missing(run, pool, bugs, attempts)
    every = attempts * len(bugs)
    watcher.expect(every, f"attempting {count(len(bugs), 'bug')}", every - len(jobs))
    control = control_named(run.policy)
    places = run.workers.count if control else run.player.episodes or run.workers.count
    await play_attempts(run, pool, jobs, AttemptPlay(places, control), watcher.attempt, watcher.say)
    if per_parent:
        watcher.say("looking for second-order bugs among the failed attempts")
        await promoted(run, pool, bugs, per_parent, watcher.say)
    return len(bugs)
