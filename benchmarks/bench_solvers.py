"""How often the scripted solvers solve, and what an attempt costs, on curricula that are there.

`python -m benchmarks.bench_solvers RUN_DIR... [--attempts N] [--policy search|naive] [--bugs N] [--json]`.

Every attempt is an episode in a fresh solver's world, one at a time, and what it hands in is graded from nothing
(without the counterfactual run, which refuses only patches that cheat). A failed patch is usable for a bug of higher
order when it applies and changes code, that is when it was refused for its failing tests and for nothing else.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure, Sheet, at_least, at_most, report
from selfplay.agent import Trajectory, play_episode
from selfplay.artifact import Bug
from selfplay.commands.cost import cpu_seconds
from selfplay.commands.grade import gradable, grader_of
from selfplay.curriculum.stored_bugs import bug_folders, prepared_for, read_bug
from selfplay.oracle.grades import Grade
from selfplay.oracle.world import SolverWorld, open_world, prediction_of
from selfplay.repository import Prepared
from selfplay.roles.solver import SOLVER
from selfplay.roles.solver.task import SolverTask
from selfplay.rollout.ready_bug import make_ready
from selfplay.sandbox import Backend, open_backend
from selfplay.sandbox.workers import Workers
from selfplay.scripted.policy import ScriptedPolicy
from selfplay.scripted.solver.naive import naive_solver
from selfplay.scripted.solver.script import scripted_solver

POLICIES = {"search": scripted_solver, "naive": naive_solver}


@dataclass(frozen=True)
class Attempt:
    """One attempt. `usable`: it failed, and its patch applies and changes code."""

    bug: str
    strategy: str
    policy: str
    solved: bool
    usable: bool
    reason: str
    seconds: float
    core_seconds: float


def attempts_on(
    folder: Path, numbers: int, policies: Sequence[str], prepared: Prepared, backend: Backend
) -> Iterator[Attempt]:
    """`numbers` attempts of each policy on one bug."""
    ready = make_ready(folder, prepared)
    grader = grader_of(gradable(folder, prepared), backend, counterfactual=False)
    for policy in policies:
        for number in range(numbers):
            task = SolverTask(ready.bug.id, ready.specification, 0, number)
            with open_world(backend, ready.task) as opened:
                began, used = time.monotonic(), cpu_seconds()
                asyncio.run(_played(POLICIES[policy](task), opened))
                seconds, core = time.monotonic() - began, cpu_seconds() - used
                changes = opened.changes()
            diff = prediction_of(backend, ready.task, changes).diff
            yield _attempt(grader.grade(backend, diff), ready.bug, policy, (seconds, core))


async def _played(policy: ScriptedPolicy, world: SolverWorld) -> Trajectory:
    with Workers(1) as workers:
        return await play_episode(policy, world.sandbox, SOLVER.name, toolset=SOLVER.toolset, workers=workers)


def _attempt(grade: Grade, bug: Bug, policy: str, spent: tuple[float, float]) -> Attempt:
    solved, reason = grade.resolved, grade.reason
    return Attempt(bug.id, bug.strategy, policy, solved, reason in ("failing-tests", "missing-tests"), reason, *spent)


def sheet(title: str, attempts: Sequence[Attempt]) -> Sheet:
    """Solve rates of one policy on one run's bugs."""
    by_strategy: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for attempt in attempts:
        by_strategy[attempt.strategy][attempt.bug].append(attempt.solved)
    figures = []
    for strategy, bugs in sorted(by_strategy.items()):
        rates = [statistics.fmean(solved) for solved in bugs.values()]
        figures.append(Figure(f"{strategy}: bugs", len(bugs), ""))
        figures.append(
            Figure(f"{strategy}: solved at least once", 100 * statistics.fmean(map(any, bugs.values())), "%")
        )
        figures.append(Figure(f"{strategy}: mean solve rate", 100 * statistics.fmean(rates), "%"))
    failed = [attempt for attempt in attempts if not attempt.solved]
    if failed:
        share = 100 * statistics.fmean(attempt.usable for attempt in failed)
        figures.append(at_least("failed attempts that leave a patch", share, 90, "%"))
    figures.append(at_most("seconds per attempt, median", statistics.median(a.seconds for a in attempts), 15, "s"))
    figures.append(Figure("core seconds per attempt, median", statistics.median(a.core_seconds for a in attempts), "s"))
    return Sheet(title, tuple(figures))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_solvers", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--attempts", type=int, default=4)
    parser.add_argument("--policy", choices=sorted(POLICIES), action="append")
    parser.add_argument("--bugs", type=int, default=10**6, help="of each run, spread over its bugs")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    policies = asked.policy or sorted(POLICIES)
    backend = open_backend()
    try:
        sheets = [found for run in asked.runs for found in _run(run, asked.attempts, policies, asked.bugs, backend)]
    finally:
        backend.close()
    report(sheets, asked.json)


def _run(run: Path, numbers: int, policies: Sequence[str], most: int, backend: Backend) -> Iterator[Sheet]:
    folders = bug_folders(run)
    folders = folders[:: max(1, len(folders) // most)][:most]
    prepared = prepared_for(folders[0], read_bug(folders[0])[0], backend)
    found: list[Attempt] = []
    for folder in folders:
        for attempt in attempts_on(folder, numbers, policies, prepared, backend):
            cost = f"{attempt.seconds:.1f} s, {attempt.core_seconds:.1f} core s"
            print(f"{attempt.bug} {attempt.policy} {attempt.reason} {cost}", file=sys.stderr)
            found.append(attempt)
    for policy in policies:
        yield sheet(f"{run.name}, {policy}", [attempt for attempt in found if attempt.policy == policy])


if __name__ == "__main__":
    main()
