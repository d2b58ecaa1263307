"""From a run's folder to attempts at its bugs and second-order bugs: what `selfplay solve` does, over values."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from selfplay.artifact import ArtifactError, Bug
from selfplay.curriculum import Curriculum, CurriculumError, open_existing
from selfplay.curriculum.attempts import Attempt, Promotion
from selfplay.curriculum.summary import read_summary, summarise, write_summary
from selfplay.repository import Prepared, rebuild
from selfplay.rollout.controls import CONTROLS
from selfplay.rollout.parallel import one_per_core
from selfplay.rollout.players import Player, player_named
from selfplay.rollout.promotion import promote
from selfplay.rollout.solving import Solving, ready_bugs, solve
from selfplay.sandbox import Backend
from selfplay.words import count, listed


@dataclass(frozen=True)
class SolveOrder:
    """What the user asked for. `policy` names a player or a control (`gold`, `empty`); `per_parent` above 0 asks for
    second-order bugs, at most so many a bug. `workers` None means one per core. `options` of the policy, by name.
    `name`: what its attempts are filed under, the policy's own if None. `bugs`: ids of those to attempt, or beginnings
    that no other bug has; all if none is named."""

    run: Path
    attempts: int = 8
    policy: str = "scripted"
    per_parent: int = 0
    workers: int | None = None
    counterfactual: bool = True
    options: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    bugs: tuple[str, ...] = ()


class SolveWatcher(Protocol):
    """Who is told what happens."""

    def say(self, line: str) -> None:
        """Something a user may want to know while waiting."""
        ...

    def expect(self, total: int, doing: str = ...) -> None:
        """A phase begins in which there is so much to do."""
        ...

    def attempt(self, attempt: Attempt) -> None:
        """An attempt is finished and stored."""
        ...


def run_solve(order: SolveOrder, backend: Backend, watcher: SolveWatcher) -> dict[str, Any]:
    """Attempt the bugs of a run (or go on attempting them). Returns the summary, also written to `summary.json`.

    Raises `SelfplayError` for what the user can mend; what was stored is kept, and the same command resumes.
    """
    if order.name in CONTROLS or (order.name and order.policy in CONTROLS):
        raise CurriculumError("a control's attempts have the control's name, and no others do", "Give another --name.")
    with contextlib.ExitStack() as stack:
        player = None
        if order.policy not in CONTROLS:
            player = stack.enter_context(contextlib.closing(player_named(order.policy, order.options)))
        return _run_solve(order, player, backend, watcher)


def _run_solve(order: SolveOrder, player: Player | None, backend: Backend, watcher: SolveWatcher) -> dict[str, Any]:
    with open_existing(order.run) as pool:
        if not pool.bugs():
            raise CurriculumError(f"{order.run} holds no bug yet", "Run `selfplay curriculum` first.")
        only = chosen(pool, order.bugs)
        if player:
            settle_attempts(pool, order.name or player.name, player)
            player.check(watcher.say)
        prepared = _prepared(order.run, pool.bugs()[0], backend)
        try:
            solve_pool(_solving(order, player, prepared, pool, backend), order.per_parent, pool, watcher, only)
        finally:
            summary = {**read_summary(order.run), **summarise(pool)}
            write_summary(order.run, summary)
    return summary


def settle_attempts(pool: Curriculum, name: str, player: Player) -> None:
    """Fix who makes the attempts filed under `name`, and how. Raises `CurriculumError` where others are there.

    What only says how bugs are planted (`staged`) may differ."""
    how = {key: value for key, value in player.settings.items() if key != "staged"}
    pool.settle_attempts(name, {"policy": player.name, **how})


def _prepared(run: Path, bug: Bug, backend: Backend) -> Prepared:
    original = run / "original"
    if not original.is_dir():
        raise ArtifactError(f"{original} is gone", "The bugs were planted in it: make the run again, or restore it.")
    return rebuild(original, bug.environment, backend=backend)


def chosen(pool: Curriculum, named: Sequence[str]) -> frozenset[str] | None:
    """The ids of the bugs that were named, each by its id or by a beginning that no other has; None for all.

    Raises `CurriculumError` for a name of no bug or of several."""
    if not named:
        return None
    ids = [bug.id for bug in (*pool.bugs(), *pool.attempts.bugs())]
    return frozenset(_one_bug(name, ids) for name in named)


def _one_bug(name: str, ids: Sequence[str]) -> str:
    found = [name] if name in ids else [id for id in ids if id.startswith(name)]
    if not found:
        raise CurriculumError(f"the run has no bug {name!r}", f"Its bugs are {listed(ids)}.")
    if len(found) > 1:
        raise CurriculumError(
            f"{name!r} is the beginning of {count(len(found), 'bug')}", f"Say which: {listed(found)}."
        )
    return found[0]


def solve_pool(
    run: Solving, per_parent: int, pool: Curriculum, watcher: SolveWatcher, only: frozenset[str] | None = None
) -> None:
    """Attempt every bug of an open pool, or `only` these, then make second-order bugs of what failed, at most
    `per_parent` a bug."""
    bugs = ready_bugs(run, pool, watcher.say, only)
    done = pool.attempts.finished(run.policy)
    wanted = sum((ready.bug.id, n) not in done for ready in bugs for n in range(run.attempts))
    watcher.expect(wanted, f"attempting {count(len(bugs), 'bug')}")
    solve(run, pool, bugs, watcher.attempt, watcher.say)
    if per_parent:
        watcher.say("looking for second-order bugs among the failed attempts")
        promote(run, pool, bugs, per_parent, lambda promotion: watcher.say(_promoted(promotion)))


def _solving(
    order: SolveOrder, player: Player | None, prepared: Prepared, pool: Curriculum, backend: Backend
) -> Solving:
    return Solving(
        prepared=prepared,
        backend=backend,
        policy=order.name or (player.name if player else order.policy),
        player=player,
        trajectories=order.run / "trajectories",
        attempts=order.attempts,
        seed=int(pool.settings().get("seed", 0)),
        workers=one_per_core(order.workers),
        counterfactual=order.counterfactual,
    )


def _promoted(promotion: Promotion) -> str:
    if promotion.bug:
        return f"{promotion.bug.id}: second order, {count(len(promotion.bug.fail_to_pass), 'test fails', 'tests fail')}"
    return f"{promotion.parent} {promotion.policy} {promotion.number} is not a second-order bug: {promotion.status}"
