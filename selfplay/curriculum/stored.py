"""Bugs in a run's folder, read back with everything needed to run them again."""

import hashlib
from pathlib import Path

from selfplay.artifact import Artifact, ArtifactError, Bug, load, load_bug
from selfplay.artifact.bug import BUG_FILE
from selfplay.curriculum.attempts import ATTEMPT_FILE
from selfplay.curriculum.opening import DATABASE, read_pool
from selfplay.oracle.calibration import Oracle
from selfplay.oracle.world import Task
from selfplay.plain import decode
from selfplay.repository import Prepared, prepare, rebuild
from selfplay.sandbox import Backend, World
from selfplay.validators import Thresholds

LEAST_REPEATS, MOST_SECONDS = 2, 90.0


def read_bug(folder: Path) -> tuple[Bug, Artifact, Thresholds]:
    """A stored bug, its five files and its thresholds. Raises `ArtifactError` when they do not belong together."""
    bug, artifact = load_bug(folder), load(folder)
    if artifact.content_hash() != bug.content_hash:
        raise ArtifactError("the five files are not those bug.json was written for")
    try:
        return bug, artifact, _strict(Thresholds.from_json(bug.thresholds))
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"{folder / BUG_FILE}: thresholds: {error}") from error


def _strict(thresholds: Thresholds) -> Thresholds:
    """Thresholds as recorded. Raises `ValueError` for an artifact that records a weaker threshold than is allowed."""
    if not isinstance(thresholds.repeats, int) or thresholds.repeats < LEAST_REPEATS:
        raise ValueError(f"repeats is {thresholds.repeats}; at least {LEAST_REPEATS} runs tell what varies")
    if not thresholds.seconds <= MOST_SECONDS:
        raise ValueError(f"seconds is {thresholds.seconds}; a test script has at most {MOST_SECONDS:.0f}")
    return thresholds


def bug_folders(path: Path) -> list[Path]:
    """The folder of the bug at `path`, or the folders of all bugs of the run at `path`, sorted. In a run with a pool,
    only folders of the pool's bugs count. Raises `ArtifactError` when it is neither."""
    if (path / BUG_FILE).is_file():
        return [path]
    bugs = path / "bugs"
    if (path / DATABASE).is_file():
        with read_pool(path) as pool:
            found = sorted(bugs / bug.id for bug in pool.bugs()) if bugs.is_dir() else []
    else:
        found = sorted(folder for folder in bugs.iterdir() if folder.is_dir()) if bugs.is_dir() else []
    if not found:
        raise ArtifactError(f"{path} holds no bug", "Name a bug's folder (it holds bug.json) or a run's folder.")
    return found


def prepared_for(folder: Path, bug: Bug, backend: Backend) -> Prepared:
    """The original of a bug: the run's copy if there is one, else the source itself."""
    original = folder.resolve().parent.parent / "original"
    if original.is_dir() and not _of_another_repository(folder, bug):
        return rebuild(original, bug.environment, backend=backend)
    prepared = prepare(bug.source, backend=backend, setup=bug.environment.get("setup"))
    if prepared.tree_hash != bug.tree_hash:
        raise ArtifactError(
            f"{folder}: {bug.source} now has tree {prepared.tree_hash}, the bug was made on {bug.tree_hash}",
            "Keep the bug's folder in its run's bugs/, beside original/, or name the revision in the source.",
        )
    return prepared


def _of_another_repository(folder: Path, bug: Bug) -> bool:
    """Whether the run's copy of an original is not this bug's: it is that of the first repository of its pool."""
    run = folder.resolve().parent.parent
    if not (run / DATABASE).is_file():
        return False
    with read_pool(run) as pool:
        first = next(iter(pool.bugs()), bug)
    return first.tree_hash != bug.tree_hash


def task_of(folder: Path, bug: Bug, artifact: Artifact, world: World) -> Task:
    """The task of a stored bug. Raises `ArtifactError` for a second-order bug whose failed attempt is missing."""
    return Task(world, artifact, (read_attempt(folder, bug),) if bug.attempt else ())


def read_attempt(folder: Path, bug: Bug) -> str:
    """The failed attempt in a second-order bug. Raises `ArtifactError` when it is missing or not the recorded one."""
    path = folder / ATTEMPT_FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ArtifactError(
            f"{path} cannot be read: {error.strerror}", "A bug of order 2 holds the failed attempt it was made from."
        ) from error
    if bug.attempt is None or hashlib.sha256(data).hexdigest() != bug.attempt.sha256:
        raise ArtifactError(f"{path} is not the attempt bug.json was written for")
    return decode(data)


def oracle_of(bug: Bug, thresholds: Thresholds) -> Oracle:
    """The test sets that decide about a stored bug; flaky ids are in neither set."""
    return Oracle(frozenset(bug.fail_to_pass), frozenset(bug.pass_to_pass), thresholds.seconds)


def demonstration_of(run: Path, bug: str) -> Path:
    """Where a bug's demonstration is kept, if it has one."""
    return run / "trajectories" / f"{bug}-demonstration-injector.jsonl.zst"
