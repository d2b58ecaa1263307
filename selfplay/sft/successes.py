"""The successful episodes of a run, each with its role and the prompt that a model would have read.

A success is an injector episode whose bug is in the pool, or a resolved attempt.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.artifact import Bug
from selfplay.curriculum import Curriculum
from selfplay.curriculum.stored_bugs import demonstration_of, original_of, read_bug, trajectory_of
from selfplay.errors import SelfplayError
from selfplay.oracle.originals import original_texts
from selfplay.oracle.specification import specification
from selfplay.repository import Suite
from selfplay.rl.credit.rules import RoleName
from selfplay.roles.injector import INJECTOR
from selfplay.roles.role import Role
from selfplay.roles.solver import SOLVER
from selfplay.roles.solver.task import SolverTask
from selfplay.rollout.players import SCRIPTED
from selfplay.sandbox import World
from selfplay.sft.demonstrate import injector_task_of

LEFT_OUT = "a script's own episode (--scripted takes it)"


@dataclass(frozen=True)
class Success:
    """A stored successful episode, its role, and the prompt `told` in it. `bug`: the bug it is about; `family`: its
    first-order bug; `scripted`: a script's own episode, not a demonstration."""

    path: Path
    role: Role[Any]
    told: str
    family: str = ""
    bug: str = ""
    scripted: bool = False


def successes(pool: Curriculum, roles: tuple[RoleName, ...]) -> Iterator[Success]:
    """The successful episodes of a run, in the order of its pool. Damaged bugs are left out."""
    if "injector" in roles:
        for record in pool.episodes.with_bugs():
            assert record.bug is not None
            bug = record.bug.id
            shown = demonstration_of(pool.folder, bug, "injector")
            if shown.is_file():
                yield Success(shown, INJECTOR, "", bug, bug)
            told = _injector_told(record.bug, record.number)
            yield Success(
                trajectory_of(pool.folder, record.trajectory), INJECTOR, told, bug, bug, _is_script(record.bug.policy)
            )
    if "solver" not in roles:
        return
    run, trees = pool.folder, pool.episodes.originals()
    bugs = {
        bug.id: (
            _solver_told(run / "bugs" / bug.id, original_of(run, bug, trees) or run / "original"),
            bug.root or bug.id,
        )
        for bug in pool.bugs()
    }
    shown_repairs = {bug: path for bug in bugs if (path := demonstration_of(pool.folder, bug, "solver")).is_file()}
    yield from (Success(path, SOLVER, "", bugs[bug][1], bug) for bug, path in shown_repairs.items())
    for attempt in pool.attempts.all(diffs=False):
        told, family = bugs.get(attempt.bug, ("", ""))
        if not (attempt.resolved and told and attempt.trajectory):  # a control has no episode
            continue
        if (path := trajectory_of(run, attempt.trajectory)).is_file():
            yield Success(path, SOLVER, told, family, attempt.bug, _is_script(attempt.policy))


def _is_script(policy: str | None) -> bool:
    """Whether the name is a script's: `scripted`, or `scripted-removal` in a bug."""
    return (policy or "").partition("-")[0] in SCRIPTED


def _injector_told(bug: Bug, number: int) -> str:
    return INJECTOR.prompt(injector_task_of(bug, number, Suite((), {})))


def _solver_told(folder: Path, original: Path) -> str:
    try:
        bug, artifact, _ = read_bug(folder)
        known = original_texts(World(tree=(original,)), artifact.test_files) if bug.hidden else {}
        if bug.hidden and not known:  # the hidden part could not be separated
            return ""
        told = specification(artifact.test_weaken, known, bug.hidden)
    except (SelfplayError, ValueError):
        return ""
    return SOLVER.prompt(SolverTask(bug.id, told, statement=bug.imported.statement if bug.imported else None))
