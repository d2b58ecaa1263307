"""What `selfplay audit` does: search the solver's worlds of stored bugs for copies of the answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.artifact import ArtifactError
from selfplay.commands.checking import CheckWatcher
from selfplay.curriculum.stored_bugs import bug_folders, prepared_for, read_bug, task_of, wishes_of
from selfplay.curriculum.trust import require
from selfplay.errors import SelfplayError
from selfplay.oracle.leak_audit.audit import Audit, AuditState, audit_task
from selfplay.oracle.world import solver_world
from selfplay.sandbox import Backend
from selfplay.sandbox.retry import again

FAILED = "failed"
"""The state of a bug that is damaged, or whose world cannot be made."""


@dataclass(frozen=True)
class AuditedBug:
    """The result for the bug `id`: its audit, or the `fault` because of which there is none."""

    id: str
    audit: Audit | None
    fault: str = ""

    @property
    def state(self) -> str:
        return FAILED if self.audit is None else self.audit.state.value

    def to_json(self) -> dict[str, Any]:
        if self.audit is None:
            return {"state": self.state, "clean": False, "reason": self.fault}
        return self.audit.to_json()


@dataclass(frozen=True)
class AuditedBugs:
    """The results for every bug. `alone`: a bug was named, not a run."""

    bugs: Sequence[AuditedBug]
    alone: bool

    @property
    def exit_code(self) -> int:
        """1 where a world leaks, else 2 where one cannot be audited."""
        states = {one.state for one in self.bugs}
        return 1 if AuditState.LEAKS in states else 2 if states - {AuditState.CLEAN} else 0

    def to_json(self) -> Any:
        if self.alone:
            return self.bugs[0].to_json()
        return [{"id": one.id, **one.to_json()} for one in self.bugs]


def audit_bugs(path: Path, backend: Backend, watcher: CheckWatcher, *, trust: bool = False) -> AuditedBugs:
    """Search the solver's world of the bug in `path`, or of every bug of the run in `path`. In a run, a bug that is
    damaged, or whose environment cannot be built again, is a result that says so, and the others are searched.

    Raises `ArtifactError` for a folder that is neither, `NotTrusted` before any search, and `SelfplayError` for a bug
    that was named and cannot be searched."""
    folders = bug_folders(path)
    if folders == [path]:
        return AuditedBugs([AuditedBug(path.name, _audit(path, backend, trust))], alone=True)
    _refuse_untrusted(folders, trust)
    watcher.expect(len(folders), "searching the solvers' worlds")
    found = []
    for folder in folders:
        try:
            found.append(AuditedBug(folder.name, _audit(folder, backend, trust)))
        except SelfplayError as error:
            found.append(AuditedBug(folder.name, None, error.message))
        watcher.done(f"{folder.name}: {found[-1].state.replace('-', ' ')}")
    return AuditedBugs(found, alone=False)


def _refuse_untrusted(folders: Sequence[Path], trust: bool) -> None:
    """Raises `NotTrusted` if a bug wants something that its user has not allowed."""
    for folder in () if trust else folders:
        try:
            wanted = wishes_of(folder)
        except ArtifactError:
            continue  # its result says what is wrong with it
        require(wanted, trust)


def _audit(folder: Path, backend: Backend, trust: bool) -> Audit:
    bug, artifact, _ = read_bug(folder)

    def work() -> Audit:
        world = solver_world(prepared_for(folder, bug, backend, trust=trust))
        return audit_task(backend, task_of(folder, bug, artifact, world))

    return again(work)
