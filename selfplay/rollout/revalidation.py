"""Every check again from nothing, for one bug or a whole run: what `selfplay validate` does."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.artifact import Artifact, ArtifactError, Bug, load, load_bug
from selfplay.artifact.bug import BUG_FILE
from selfplay.repository import Prepared, prepare, rebuild
from selfplay.sandbox import Backend
from selfplay.validators import Thresholds, Validation, validate
from selfplay.workbench import RunCache, Workbench


@dataclass(frozen=True)
class Revalidated:
    """What the checks say now, beside what `bug.json` recorded."""

    bug: Bug
    validation: Validation

    @property
    def agrees(self) -> bool:
        """Valid, and every recorded F2P and P2P test behaves as recorded (ids found flaky now aside)."""
        found, flaky = self.validation, set(self.validation.flaky)
        same = set(self.bug.fail_to_pass) - flaky <= set(found.fail_to_pass)
        return found.valid and same and set(self.bug.pass_to_pass) - flaky <= set(found.pass_to_pass)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.bug.id,
            "valid": self.validation.valid,
            "agrees": self.agrees,
            "verdicts": [verdict.to_json() for verdict in self.validation.verdicts],
        }


def revalidate(path: Path, backend: Backend) -> Iterator[Revalidated]:
    """Check the bug in `path`, or every bug of the run in `path`, one after the other.

    Raises `ArtifactError` for a folder that is neither, or a bug that is damaged.
    """
    folders = bug_folders(path)
    prepared: dict[tuple[str, str], tuple[Prepared, RunCache]] = {}
    for folder in folders:
        bug, artifact = load_bug(folder), load(folder)
        if artifact.content_hash() != bug.content_hash:
            raise ArtifactError(f"{folder}: the five files are not those bug.json was written for")
        key = (bug.tree_hash, str(bug.environment))
        if key not in prepared:
            prepared[key] = (prepared_for(folder, bug, backend), RunCache())
        yield Revalidated(bug, _validate(artifact, bug, *prepared[key], backend))


def bug_folders(path: Path) -> list[Path]:
    """The folder of the bug `path` is, or those of the run it is, sorted. Raises `ArtifactError` when neither."""
    if (path / BUG_FILE).is_file():
        return [path]
    found = sorted(file.parent for file in (path / "bugs").glob(f"*/{BUG_FILE}"))
    if not found:
        raise ArtifactError(f"{path} holds no bug", "Name a bug's folder (it holds bug.json) or a run's folder.")
    return found


def prepared_for(folder: Path, bug: Bug, backend: Backend) -> Prepared:
    """The original of a bug: the run's copy where there is one, else the source itself.

    Raises `ArtifactError` when the source has changed since, `SelfplayError` when it cannot be had."""
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


def _validate(artifact: Artifact, bug: Bug, prepared: Prepared, cache: RunCache, backend: Backend) -> Validation:
    thresholds = Thresholds(**bug.thresholds)
    bench = Workbench(backend, prepared.world(), artifact, time_limit=thresholds.seconds, shared=cache)
    return validate(artifact, bench, thresholds)
