"""Which bugs of a run may be attempted: undamaged bugs whose leak audit found nothing."""

import contextlib
from pathlib import Path

from selfplay.artifact import Bug
from selfplay.artifact.reading import existing_folder
from selfplay.commands.limited_lines import LimitedLines
from selfplay.curriculum import Curriculum
from selfplay.errors import SelfplayError
from selfplay.formatting import Say, listed
from selfplay.oracle.leak_audit.audit import Audit, AuditState
from selfplay.rollout.ready_bug import ReadyBug, make_ready, search_world
from selfplay.rollout.retries import Retries
from selfplay.rollout.scheduler import in_leases
from selfplay.rollout.solver import SolverRun
from selfplay.sandbox import Backend, SandboxError


async def ready_bugs(run: SolverRun, pool: Curriculum, wanted: frozenset[str] | None, say: Say) -> list[ReadyBug]:
    """The bugs of the pool that may be attempted; each world is searched once. A bug that is damaged, leaks or cannot
    be audited is reported and left out."""
    found = []
    few = LimitedLines(say, "bugs")
    for bug in pool.bugs() if wanted is None else pool.some_bugs(wanted):
        if bug.tree_hash != run.prepared.tree_hash:
            few(f"{bug.id} is left out: it was planted in {bug.source}, another repository of this pool")
            continue
        try:
            found.append(make_ready(_folder(pool, bug.id), run.prepared))
        except (SelfplayError, ValueError) as error:
            few(f"{bug.id} is left out: {error}")
    states = pool.attempts.audited(ready.bug for ready in found)
    unknown = [ready for ready in found if ready.bug.id not in states]
    losses: Retries[ReadyBug, Audit | str] = Retries(
        lambda ready, error: f"its world could not be searched: {error.message}", played_again=pool.lost.count_again
    )
    async with contextlib.aclosing(in_leases(unknown, _audit, run.seats, run.workers, run.limits, losses)) as audits:
        async for ready, audit in audits:
            states |= _recorded(pool, ready.bug, audit, few)
    few.end()
    unaudited = [ready.bug.id for ready in found if states.get(ready.bug.id) is AuditState.NOT_AUDITABLE]
    if unaudited:
        said = "attempted anyway" if run.unauditable else "left out; `selfplay solve --unauditable` takes them"
        say(f"worlds that cannot be audited, {said}: {listed(unaudited)}")
    taken = {AuditState.CLEAN, *([AuditState.NOT_AUDITABLE] if run.unauditable else [])}
    return [ready for ready in found if states.get(ready.bug.id) in taken]


def _recorded(pool: Curriculum, bug: Bug, audit: Audit | str, say: Say) -> dict[str, AuditState]:
    """The state of the bug, by its id, which is stored; none if its world could not be searched."""
    if isinstance(audit, str):
        say(f"{bug.id} is left out: {audit}")
        return {}
    pool.attempts.record_audit(bug, audit)
    if audit.state is AuditState.NOT_AUDITABLE:
        say(f"{bug.id} cannot be audited: {audit.reason}")
    if worst := audit.worst:
        say(f"{bug.id} is left out: {worst.sentence}")
    return {bug.id: audit.state}


def _audit(ready: ReadyBug, backend: Backend) -> Audit | str:
    try:
        return search_world(ready, backend)
    except SandboxError:
        raise
    except SelfplayError as error:
        return str(error)


def _folder(pool: Curriculum, bug: str) -> Path:
    """The folder of a bug. Raises `UntrustedDataError` for a link in its place: a calibration is written into it."""
    return existing_folder(pool.folder, "bugs", bug) or pool.folder / "bugs" / bug
