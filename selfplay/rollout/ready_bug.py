"""A stored bug, ready to be attempted, and the search of its solver's world for copies of the answer."""

from dataclasses import dataclass, field
from pathlib import Path

from selfplay.artifact import Artifact, Bug
from selfplay.curriculum.stored_bugs import oracle_of, read_bug, task_of
from selfplay.oracle.leak_audit.audit import Audit, audit_task
from selfplay.oracle.originals import original_texts
from selfplay.oracle.specification import specification
from selfplay.oracle.task import Oracle, Task
from selfplay.oracle.world import solver_world
from selfplay.repository import Prepared
from selfplay.sandbox import Backend
from selfplay.workbench import RunCache


@dataclass(frozen=True)
class ReadyBug:
    """A stored bug, ready to be attempted: the `task` of its solver, the `specification` in its prompt, and `graded`,
    the same task with the original's compiled caches, for grading. `seconds`: the time limit of its script;
    `statement`: of an imported task."""

    folder: Path
    bug: Bug
    artifact: Artifact
    task: Task
    graded: Task
    specification: str
    oracle: Oracle
    seconds: float
    statement: str | None = None
    runs: RunCache = field(default_factory=RunCache)


def make_ready(folder: Path, prepared: Prepared) -> ReadyBug:
    """Read the bug in `folder`. Raises `ArtifactError` for a damaged bug."""
    bug, artifact, thresholds = read_bug(folder)
    graded = task_of(folder, bug, artifact, prepared.world())
    told = specification(artifact.test_weaken, original_texts(graded.world, artifact.test_files), bug.hidden)
    task = Task(solver_world(prepared), artifact, graded.extra)
    return ReadyBug(
        folder,
        bug,
        artifact,
        task,
        graded,
        told,
        oracle_of(bug, thresholds),
        thresholds.seconds,
        bug.imported.statement if bug.imported else None,
    )


def search_world(ready: ReadyBug, backend: Backend) -> Audit:
    """Search the world a solver would see for copies of the answer. Raises what `audit_task` raises."""
    return audit_task(backend, ready.task)
