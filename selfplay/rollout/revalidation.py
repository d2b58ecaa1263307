"""Every check again from nothing, for one bug or a whole run: what `selfplay validate` does."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.artifact import Artifact, ArtifactError, Bug, Verdict, load, load_bug
from selfplay.artifact.bug import BUG_FILE
from selfplay.repository import Prepared, prepare, rebuild
from selfplay.sandbox import Backend
from selfplay.validators import Thresholds, Validation, validate
from selfplay.workbench import RunCache, Workbench

LEAST_REPEATS, MOST_SECONDS = 2, 90.0


@dataclass(frozen=True)
class Revalidated:
    """What the checks say now of the bug `id`, and after them whether `bug.json` recorded the same.

    `verdicts` may start and end with one of no check of the method: `files`, a bug whose files are damaged or not
    those of its record, and `record`, tests that behave otherwise than recorded (ids found flaky now aside).
    """

    id: str
    verdicts: tuple[Verdict, ...]

    @property
    def valid(self) -> bool:
        return all(verdict.passed for verdict in self.verdicts)

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "valid": self.valid, "verdicts": [verdict.to_json() for verdict in self.verdicts]}


def revalidate(path: Path, backend: Backend) -> Iterator[Revalidated]:
    """Check the bug in `path`, or every bug of the run in `path`, one after the other. A damaged bug is not valid.

    Raises `ArtifactError` for a folder that is neither, and what `prepare` raises for an original that is not there.
    """
    prepared: dict[tuple[str, str], tuple[Prepared, RunCache]] = {}
    for folder in bug_folders(path):
        try:
            bug, artifact, thresholds = read_bug(folder)
        except ArtifactError as error:
            yield Revalidated(folder.name, (Verdict("files", False, error.message),))
            continue
        key = (bug.tree_hash, str(bug.environment))
        if key not in prepared:
            prepared[key] = (prepared_for(folder, bug, backend), RunCache())
        found = _validate(artifact, thresholds, *prepared[key], backend)
        yield Revalidated(bug.id, (*found.verdicts, *_disagreement(bug, found)))


def read_bug(folder: Path) -> tuple[Bug, Artifact, Thresholds]:
    """A stored bug, its five files and its thresholds. Raises `ArtifactError` when they do not belong together."""
    bug, artifact = load_bug(folder), load(folder)
    if artifact.content_hash() != bug.content_hash:
        raise ArtifactError("the five files are not those bug.json was written for")
    try:
        return bug, artifact, _strict(Thresholds(**bug.thresholds))
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"{folder / BUG_FILE}: thresholds: {error}") from error


def _strict(thresholds: Thresholds) -> Thresholds:
    """Thresholds as recorded. Raises `ValueError` where an artifact asks to be judged less strictly than any may be."""
    if not isinstance(thresholds.repeats, int) or thresholds.repeats < LEAST_REPEATS:
        raise ValueError(f"repeats is {thresholds.repeats}; at least {LEAST_REPEATS} runs tell what varies")
    if not thresholds.seconds <= MOST_SECONDS:
        raise ValueError(f"seconds is {thresholds.seconds}; a test script has at most {MOST_SECONDS:.0f}")
    return thresholds


def _disagreement(bug: Bug, found: Validation) -> tuple[Verdict, ...]:
    """A failed verdict when a valid bug's tests do not behave as recorded."""
    flaky = set(found.flaky)
    once = flaky | set(bug.flaky)
    other = (set(bug.fail_to_pass) ^ set(found.fail_to_pass)) - once
    other |= (set(bug.pass_to_pass) ^ set(found.pass_to_pass)) - once
    if not found.valid or not other:
        return ()
    return (Verdict("record", False, f"{len(other)} tests behave otherwise than recorded, first {min(other)!r}"),)


def bug_folders(path: Path) -> list[Path]:
    """The folder of the bug `path` is, or those of the run it is, sorted. Raises `ArtifactError` when neither."""
    if (path / BUG_FILE).is_file():
        return [path]
    bugs = path / "bugs"
    found = sorted(folder for folder in bugs.iterdir() if folder.is_dir()) if bugs.is_dir() else []
    if not found:
        raise ArtifactError(f"{path} holds no bug", "Name a bug's folder (it holds bug.json) or a run's folder.")
    return found


def prepared_for(folder: Path, bug: Bug, backend: Backend) -> Prepared:
    """The original of a bug: the run's copy where there is one, else the source itself."""
    original = folder.resolve().parent.parent / "original"
    if original.is_dir():
        return rebuild(original, bug.environment, backend=backend)
    prepared = prepare(bug.source, backend=backend, setup=bug.environment.get("setup"))
    if prepared.tree_hash != bug.tree_hash:
        raise ArtifactError(
            f"{folder}: {bug.source} now has tree {prepared.tree_hash}, the bug was made on {bug.tree_hash}",
            "Keep the bug's folder in its run's bugs/, beside original/, or name the revision in the source.",
        )
    return prepared


def _validate(
    artifact: Artifact, thresholds: Thresholds, prepared: Prepared, cache: RunCache, backend: Backend
) -> Validation:
    bench = Workbench(backend, prepared.world(), artifact, time_limit=thresholds.seconds, shared=cache)
    return validate(artifact, bench, thresholds)
