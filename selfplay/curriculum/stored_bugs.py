"""Reads bugs from a run's folder, with everything needed to run them again."""

import hashlib
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path

from selfplay.artifact import Artifact, ArtifactError, Bug, load, load_bug
from selfplay.artifact.bug import BUG_FILE, is_bug_id, is_weakened
from selfplay.artifact.environment import recorded_environment
from selfplay.artifact.reading import UntrustedDataError, existing_folder, listed_below, read_below
from selfplay.curriculum.attempts import ATTEMPT_FILE, MOST_DIFF
from selfplay.curriculum.open_pool import read_pool
from selfplay.curriculum.trust import Wish, require
from selfplay.curriculum.untrusted_sqlite import DATABASE, ORIGINALS
from selfplay.oracle.task import Oracle, Task
from selfplay.plain_text import decode, safe_relative
from selfplay.repository import Prepared, prepare, rebuild
from selfplay.sandbox import Backend, World
from selfplay.validators import Thresholds

LEAST_REPEATS, MOST_REPEATS, MOST_SECONDS = 2, 20, 90.0
MOST_COUNT, MOST_CHANGED = 1_000_000, 1000


def load_own(folder: Path) -> Bug:
    """The `bug.json` of a bug's folder. In a run the folder must have the bug's name, under which attempts and
    trajectories are filed. Raises `ArtifactError`."""
    bug, name = load_bug(folder), folder.resolve().name
    if bug.id != name and in_run(folder):
        raise ArtifactError(
            f"{folder / BUG_FILE} is that of {bug.id}, and its folder is {name[:200]!r}",
            "In a run, a bug's folder has the bug's name: rename it.",
        )
    return bug


def in_run(folder: Path) -> bool:
    """Whether the folder of a bug lies in a run, and not alone."""
    bugs = folder.resolve().parent
    return bugs.name == "bugs" and os.path.lexists(bugs.parent / DATABASE)


def read_bug(folder: Path) -> tuple[Bug, Artifact, Thresholds]:
    """A stored bug, its five files (of at most 8 MiB each, and 100,000 lines) and its thresholds: all of it untrusted,
    read within bounds and typed. Raises `ArtifactError` if they do not belong together."""
    bug = load_own(folder)
    artifact = load(folder, weakened=is_weakened(bug))
    if artifact.content_hash() != bug.content_hash:
        raise ArtifactError("the five files are not those bug.json was written for")
    try:
        return bug, artifact, _strict(Thresholds.from_json(bug.thresholds))
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"{folder / BUG_FILE}: thresholds: {error}") from error


def _strict(thresholds: Thresholds) -> Thresholds:
    """Thresholds as recorded. Raises `ValueError` for an artifact that records a weaker threshold than is allowed."""
    for name, value in vars(thresholds).items():
        whole = name not in ("seconds", "max_lost_share")
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not math.isfinite(value):
            raise ValueError(f"{name} is not a number")
        if whole and value > MOST_COUNT:
            raise ValueError(f"{name} is {value:g}; at most {MOST_COUNT} makes sense")
    if not LEAST_REPEATS <= thresholds.repeats <= MOST_REPEATS:
        few = f"between {LEAST_REPEATS} and {MOST_REPEATS} runs are allowed"
        raise ValueError(f"repeats is {thresholds.repeats}; {few}")
    if thresholds.max_changed_files > MOST_CHANGED:
        raise ValueError(
            f"max_changed_files is {thresholds.max_changed_files}; {MOST_CHANGED} are the most: each is a run"
        )
    if not thresholds.seconds <= MOST_SECONDS:
        raise ValueError(f"seconds is {thresholds.seconds}; a test script has at most {MOST_SECONDS:.0f}")
    return thresholds


def bug_folders(path: Path) -> list[Path]:
    """The folder of the bug at `path`, or the folders of all bugs of the run at `path`, sorted. In a run with a pool,
    only folders of the pool's bugs count. Raises `ArtifactError` when it is neither."""
    if os.path.lexists(path / BUG_FILE):
        return [path]
    try:
        found = [path / "bugs" / name for name in _names(path)]
    except UntrustedDataError as error:
        raise ArtifactError(error.message, error.hint) from error
    if not found:
        raise ArtifactError(f"{path} has no bug", "Name a bug's folder (it holds bug.json) or a run's folder.")
    return found


def _names(run: Path) -> list[str]:
    """The names of the folders of a run's bugs. Raises `UntrustedDataError` for a link or a wrong name."""
    if (run / DATABASE).exists():
        with read_pool(run) as pool:
            names = sorted(bug.id for bug in pool.bugs()) if existing_folder(run, "bugs") else []
    else:
        names = [name for name in listed_below(run, "bugs") if not (run / "bugs" / name).is_file()]
    for name in names:
        if not is_bug_id(name):
            raise UntrustedDataError(f"{run / 'bugs'} holds {name[:80]!r}, which is not a bug's name")
        existing_folder(run, "bugs", name)
    return names


def wishes(bug: Bug, fetched: bool) -> list[Wish]:
    """What rebuilding a bug's environment needs beyond a build in a sandbox: running a setup command, reaching hosts,
    and, if its original is `fetched`, its source. A source in an image is copied from it."""
    known = recorded_environment(bug.environment)
    asked = [("setup", known.setup or ""), ("hosts", " ".join(known.allow_hosts))]
    if fetched or (known.source or "").startswith("image:"):
        asked.append(("source", bug.source if fetched else known.source or ""))
    return [Wish(kind, text, bug.tree_hash) for kind, text in asked if text]


def wishes_of(folder: Path) -> list[Wish]:
    """The wishes of the bug in `folder`. Raises `ArtifactError`."""
    bug = load_own(folder)
    return wishes(bug, fetched=_original(folder, bug) is None)


def prepared_for(folder: Path, bug: Bug, backend: Backend, *, trust: bool = False) -> Prepared:
    """The original of a bug: the run's copy if there is one, else the source itself.

    Raises `NotTrusted` if the run wants something that its user has not allowed (`trust` allows it), and `SourceError`
    for another tree than the bug's: what was allowed was for that one."""
    original, known = _original(folder, bug), recorded_environment(bug.environment)
    require(wishes(bug, fetched=original is None), trust)
    if original is not None:
        return rebuilt(original, bug, backend)
    hosts = known.allow_hosts
    return prepare(bug.source, backend=backend, setup=known.setup, allow_hosts=hosts, tree=bug.tree_hash)


def rebuilt(original: Path, bug: Bug, backend: Backend) -> Prepared:
    """A bug's original with its environment. What the user allowed was for the bug's own tree: no other is built,
    whatever its environment says. Raises `SourceError`."""
    environment = {**bug.environment, "tree_hash": bug.tree_hash}
    return rebuild(
        original, environment, backend=backend, allow_hosts=recorded_environment(bug.environment).allow_hosts
    )


def _original(folder: Path, bug: Bug) -> Path | None:
    """The run's copy of a bug's original, or None. Raises `ArtifactError` for a link."""
    run = folder.resolve().parent.parent
    trees = None
    if (run / DATABASE).is_file():
        with read_pool(run) as pool:
            trees = pool.episodes.originals()
    return original_of(run, bug, trees)


def original_of(run: Path, bug: Bug, trees: Mapping[str, Path] | None) -> Path | None:
    """The copy of a bug's original in its run's folder. `trees`: the folders of the originals of the run's own bugs; an
    imported task's is in `originals/` under its tree id. Raises `ArtifactError` for a link."""
    try:
        own = trees.get(bug.tree_hash) if trees else run / "original"
        if own is not None and (found := existing_folder(run, own.name)):
            return found
        return existing_folder(run, ORIGINALS, bug.tree_hash) if is_tree(bug.tree_hash) else None
    except UntrustedDataError as error:
        raise ArtifactError(error.message, error.hint) from error


def is_tree(name: str) -> bool:
    """Whether a name is a tree id, and so names a folder in `originals/`."""
    return re.fullmatch(r"[0-9a-f]{40}([0-9a-f]{24})?", name) is not None


def task_of(folder: Path, bug: Bug, artifact: Artifact, world: World) -> Task:
    """The task of a stored bug. Raises `ArtifactError` for a second-order bug whose failed attempt is missing."""
    return Task(world, artifact, (read_attempt(folder, bug),) if bug.attempt else ())


def read_attempt(folder: Path, bug: Bug) -> str:
    """The failed attempt in a second-order bug. Raises `ArtifactError` if it is missing or not the recorded one."""
    path = folder / ATTEMPT_FILE
    try:
        data = read_below(folder, ATTEMPT_FILE, MOST_DIFF)
    except UntrustedDataError as error:
        raise ArtifactError(error.message, "A bug of order 2 holds the failed attempt it was made from.") from error
    if bug.attempt is None or hashlib.sha256(data).hexdigest() != bug.attempt.sha256:
        raise ArtifactError(f"{path} is not the attempt bug.json was written for")
    return decode(data)


def oracle_of(bug: Bug, thresholds: Thresholds) -> Oracle:
    """The test sets for grading a stored bug; flaky ids are in neither set."""
    return Oracle(frozenset(bug.fail_to_pass), frozenset(bug.pass_to_pass), thresholds.seconds)


def demonstration_of(run: Path, bug: str, role: str) -> Path:
    """The path of the demonstration of a role on a bug, which may not exist."""
    return trajectory_of(run, f"{bug}-demonstration-{role}.jsonl.zst")


def trajectory_of(run: Path, name: str) -> Path:
    """The path of an episode's trajectory, which may not exist. Raises `UntrustedDataError` for a name that leads
    elsewhere."""
    if safe_relative(name) is None or "/" in name:
        raise UntrustedDataError(f"{name[:200]!r} is not a name of an episode in {run}")
    return run / "trajectories" / name
