"""What `selfplay trajectories demonstrate` does: plant and repair every bug of a run as demonstrations."""

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from selfplay.agent.trajectory_file import TrajectoryError, load, save
from selfplay.artifact import ArtifactError, Bug
from selfplay.commands.asked_roles import BOTH, asked_roles
from selfplay.commands.event_loop import iterate
from selfplay.curriculum import Curriculum
from selfplay.curriculum.stored_bugs import demonstration_of, prepared_for, read_bug
from selfplay.errors import SelfplayError
from selfplay.repository import Prepared, Suite, measure_suite
from selfplay.rollout.retries import Retries, idle_check_in
from selfplay.rollout.scheduler import each_of, many
from selfplay.sandbox import Backend
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.retry import again
from selfplay.sandbox.workers import Workers
from selfplay.sft.demonstrate import Demonstrated, StoredBug, demonstrate_planting, demonstrate_repair

PLAYS = {"injector": demonstrate_planting, "solver": demonstrate_repair}
Played = dict[str, Demonstrated] | str
"""The result of each role, or why none could be played."""


@dataclass(frozen=True)
class Shown:
    """The result for one bug. `why`: why it was not demonstrated in a role; empty if it was in all that were asked."""

    bug: str
    why: str = ""


def demonstrate(
    pool: Curriculum, backend: Backend, workers: int, *, trust: bool = False, short: bool = False, role: str = BOTH
) -> Generator[Shown, None, None]:
    """Demonstrate every first-order bug of the run that has no demonstration yet, `workers` at a time; results come as
    they finish.

    `trust`: allow what the run wants to run or fetch; `short`: see `StoredBug`; `role`: a role's name, or `both`.
    Raises `SelfplayError` for another role, and, after all other bugs, for an original that is gone for good."""
    roles = asked_roles(role)
    todo, bugs = dict[str, list[tuple[Bug, int]]](), pool.folder / "bugs"
    for record in pool.episodes.with_bugs():
        assert record.bug is not None
        if all(_readable(demonstration_of(pool.folder, record.bug.id, one)) for one in roles):
            yield Shown(record.bug.id)
            continue
        try:
            read_bug(bugs / record.bug.id)
        except ArtifactError as error:
            yield Shown(record.bug.id, error.message)
        else:
            todo.setdefault(record.repository, []).append((record.bug, record.number))
    jobs, failed = list[StoredBug](), list[SelfplayError]()
    for repository, own in todo.items():
        try:
            suite, prepared = _measured(pool, repository, own[0][0], backend, trust)
        except SelfplayError as error:
            failed.append(error)
            continue
        jobs += [StoredBug(bugs / bug.id, number, suite, prepared, short) for bug, number in own]
    results = iterate(_demonstrated(jobs, backend, workers, roles))
    try:
        for job, found in results:
            if isinstance(found, str):
                yield Shown(job.folder.name, found)
                continue
            for one, trajectory in found.items():
                if not isinstance(trajectory, str):
                    save(trajectory, demonstration_of(pool.folder, job.folder.name, one))
            why = [f"{one}: {said}" for one, said in found.items() if isinstance(said, str)]
            yield Shown(job.folder.name, "; ".join(why))
    finally:
        results.close()
    if failed:
        raise failed[0]


def _measured(pool: Curriculum, repository: str, bug: Bug, backend: Backend, trust: bool) -> tuple[Suite, Prepared]:
    """The measured suite of the repository that a bug was planted in, and that repository. Raises
    `SelfplayError`."""
    folder, command = pool.folder / "bugs" / bug.id, pool.repository_setting(repository, "test", str, "") or None
    seconds = read_bug(folder)[2].seconds
    prepared = again(lambda: prepared_for(folder, bug, backend, trust=trust))
    suite = again(lambda: measure_suite(prepared, backend, time_limit=seconds, command=command))
    return suite, prepared


async def _demonstrated(
    jobs: list[StoredBug], backend: Backend, workers: int, roles: Sequence[str]
) -> AsyncGenerator[tuple[StoredBug, Played], None]:
    seats = SandboxPool(backend)
    with Workers(workers) as threads:

        async def play(job: StoredBug) -> Played:
            return {role: await PLAYS[role](job, seats, threads) for role in roles}

        losses: Retries[StoredBug, Played] = Retries(_unplayed, idle_check_in(seats, threads))
        async with aclosing(many(each_of(jobs), play, workers, losses)) as found:
            async for one in found:
                yield one


def _unplayed(job: StoredBug, error: SelfplayError) -> Played:
    return f"it could not be played: {error.message}"


def _readable(path: Path) -> bool:
    """Whether a readable demonstration is there; a damaged one is made again."""
    try:
        return bool(load(path, linked=False))
    except TrajectoryError:
        return False
