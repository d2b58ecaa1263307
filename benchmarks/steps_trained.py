"""What each step of a training run planned, played and trained on, from its ledger and pool: is each rollout in one?"""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.commands.training.choice import TRAINING
from selfplay.curriculum import read_pool

ROLES = ("injector", "solver")


@dataclass(frozen=True)
class Account:
    """Of the finished steps. `version`: updates that the newest weights hold. `planned`: rollouts of all plans; `once`:
    those that stand in one plan; `credited`: those that the steps' figures count. `taught`: trained on, by role.
    `example`: a trajectory worth reading."""

    steps: int
    updates: int
    version: int
    planned: int
    once: int
    credited: int
    taught: dict[str, int]
    valid: int
    injections: int
    resolved: int
    attempts: int
    example: str


def account(run: Path) -> Account:
    """The account of a run; of nothing where it has not begun."""
    steps = [(plan, figures) for plan, figures in plans(run) if figures is not None]
    planned = [rollout for plan, _ in steps for rollout in plan]
    by_role = {role: [figures["rollouts"].get(role, {}) for _, figures in steps] for role in ROLES}
    outcomes = sum((Counter(one.get("outcomes", {})) for found in by_role.values() for one in found), Counter[str]())
    weights = [int(one.name) for one in (run / "weights").glob("[0-9]*")]
    played = {role: sum(one.get("episodes", 0) for one in found) for role, found in by_role.items()}
    return Account(
        steps=len(steps),
        updates=sum("nothing" not in figures for _, figures in steps),
        version=max(weights, default=0),
        planned=len(planned),
        once=sum(times == 1 for times in Counter(planned).values()),
        credited=sum(played.values()),
        taught={role: sum(one.get("trained_on", 0) for one in found) for role, found in by_role.items()},
        valid=outcomes["valid"],
        injections=played["injector"],
        resolved=outcomes["resolved"],
        attempts=played["solver"],
        example=_example(run) if planned else "",
    )


def plans(run: Path) -> list[tuple[list[Any], dict[str, Any] | None]]:
    """(its rollouts, its figures or None) of each step: (repository, number) of injector episodes, (bug, number) of
    attempts."""
    path = run / "train.sqlite"
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=30)) as database:
        try:
            rows = database.execute("SELECT injections, attempts, figures FROM steps ORDER BY step").fetchall()
        except sqlite3.OperationalError:  # it is being made
            return []
    return [
        (
            [tuple(one) for one in (*json.loads(injections), *json.loads(attempts or "[]"))],
            figures and json.loads(figures),
        )
        for injections, attempts, figures in rows
    ]


def played_of_open_step(run: Path, step: int) -> tuple[list[str], int]:
    """(the trajectories stored, how many are missing) of the rollouts that are planned of a step; nothing and 0 unless
    it is the one that is played."""
    found = plans(run)
    if len(found) != step + 1 or found[step][1] is not None:
        return [], 0
    with read_pool(run) as pool:
        stored: dict[Any, str] = {(one.repository, one.number): one.trajectory for one in pool.episodes.records()}
        stored |= {(one.bug, one.number): one.trajectory for one in pool.attempts.all() if one.policy == TRAINING}
    names = [stored[rollout] for rollout in found[step][0] if rollout in stored]
    return names, len(found[step][0]) - len(names)


def rewarded(run: Path) -> dict[str, Any]:
    """What each rollout came to, and which versions of the weights sampled it; and each step's rewards by role."""
    with read_pool(run) as pool:
        found: dict[str, Any] = {
            f"injection {one.number}": [one.status, one.tree_key, one.versions] for one in pool.episodes.records()
        }
        found |= {f"{one.bug} {one.number}": [one.resolved, one.diff, one.versions] for one in pool.attempts.all()}
    steps = enumerate(figures for _, figures in plans(run) if figures is not None)
    return found | {f"step {number}": figures["rollouts"] for number, figures in steps}


def _example(run: Path) -> str:
    """The trajectory of a resolved attempt, else of any rollout."""
    with read_pool(run) as pool:
        resolved = [one.trajectory for one in pool.attempts.all(diffs=False) if one.policy == TRAINING and one.resolved]
        any_played = [one.trajectory for one in pool.episodes.records()]
    return (resolved or any_played or [""])[-1]
