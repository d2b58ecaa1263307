"""What `selfplay audit` does: search the solver's world of a stored bug for copies of the answer."""

from pathlib import Path

from selfplay.curriculum.stored_bugs import prepared_for, read_bug, task_of
from selfplay.oracle.leak_audit.audit import Audit, audit_task
from selfplay.oracle.world import solver_world
from selfplay.sandbox import Backend
from selfplay.sandbox.retry import again


def audit_bug(folder: Path, backend: Backend, *, trust: bool = False) -> Audit:
    """Search the solver's world of the bug in `folder`.

    Raises `SelfplayError` for a damaged bug, or one whose environment is gone and cannot be built again."""
    bug, artifact, _ = read_bug(folder)

    def work() -> Audit:
        world = solver_world(prepared_for(folder, bug, backend, trust=trust))
        return audit_task(backend, task_of(folder, bug, artifact, world))

    return again(work)
