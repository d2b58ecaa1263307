"""A file of predictions for a run's bugs, in the usual form: `instance_id` and `model_patch`, as JSON or JSON lines.

The file is read whole and checked before anything runs: a file that names bugs the run does not have belongs to another
run.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from selfplay.artifact import Bug
from selfplay.commands.grade import Gradable, gradable, grader_of
from selfplay.commands.looping import in_parallel
from selfplay.curriculum.stored import bug_folders, prepared_for, read_bug
from selfplay.oracle.errors import OracleError, PredictionError
from selfplay.oracle.grade import Grade, grade_without_running
from selfplay.repository import Prepared
from selfplay.sandbox import MIB, Backend
from selfplay.words import count

MOST_BYTES = 1024 * MIB
_FORM = 'Each entry is {"instance_id": "<bug>", "model_patch": "<git diff>"}, in a JSON list or one a line.'


def read_predictions(path: Path) -> dict[str, str]:
    """Bug -> diff. A `model_patch` of null is an empty diff. Raises `PredictionError` naming the wrong entry."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise PredictionError("oversized", f"{path} is larger than {MOST_BYTES // MIB} MiB", "Split it.")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise PredictionError("unreadable", f"{path} cannot be read: {error.strerror}", _FORM) from error
    except UnicodeDecodeError as error:
        raise PredictionError("unreadable", f"{path} is not UTF-8 (byte {error.start})", _FORM) from error
    found: dict[str, str] = {}
    for number, entry in enumerate(_entries(path, text), 1):
        bug, diff = entry.get("instance_id"), entry.get("model_patch")
        diff = "" if diff is None and "model_patch" in entry else diff
        if not isinstance(bug, str) or not isinstance(diff, str):
            raise PredictionError("malformed", f"{path}: entry {number} has no instance_id or no model_patch", _FORM)
        if bug in found:
            raise PredictionError("malformed", f"{path}: entry {number} is the second for {bug!r}", "Keep one a bug.")
        found[bug] = diff
    if not found:
        raise PredictionError("empty", f"{path} holds no prediction", _FORM)
    return found


def _entries(path: Path, text: str) -> list[dict[str, Any]]:
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        whole = json.loads(text) if text.lstrip()[:1] == "[" else [json.loads(line) for line in lines]
    except (ValueError, RecursionError) as error:
        raise PredictionError("malformed", f"{path} is not JSON: {error}", _FORM) from error
    if not all(isinstance(entry, dict) for entry in whole):
        raise PredictionError("malformed", f"{path}: an entry is no object", _FORM)
    return list(whole)


def grade_predictions(
    run: Path, predictions: dict[str, str], backend: Backend, *, workers: int, counterfactual: bool = True
) -> Iterator[tuple[str, Grade]]:
    """(bug, grade) as they finish; for a bug that cannot be graded, the grade says so.

    Raises `PredictionError` for ids that are not bugs of the run, before anything runs, and `SelfplayError` for a bug
    that is damaged or whose environment is gone."""
    folders = {folder.name: folder for folder in bug_folders(run)}
    unknown = sorted(predictions.keys() - folders.keys())
    if unknown:
        raise PredictionError(
            "unknown",
            f"{count(len(unknown), 'prediction is', 'predictions are')} for no bug of {run}, first {unknown[0]!r}",
            f"Its bugs are those in {run / 'bugs'}.",
        )  # fmt: skip
    prepared: dict[tuple[str, str], Prepared] = {}
    ready = {bug: _ready(folders[bug], prepared, backend) for bug in sorted(predictions)}

    def work(bug: str, lease: Backend) -> Grade:
        try:
            refused = grade_without_running(ready[bug].task, predictions[bug])
            return refused or grader_of(ready[bug], lease, counterfactual).grade(lease, predictions[bug])
        except OracleError as error:
            return Grade(False, "cannot-be-graded", error.message)

    with closing(in_parallel(ready, work, workers, backend)) as results:
        yield from results


def _ready(folder: Path, known: dict[tuple[str, str], Prepared], backend: Backend) -> Gradable:
    bug, _, _ = read_bug(folder)
    prepared = known.setdefault(_origin(bug), known.get(_origin(bug)) or prepared_for(folder, bug, backend))
    return gradable(folder, prepared)


def _origin(bug: Bug) -> tuple[str, str]:
    return bug.tree_hash, str(bug.environment)
