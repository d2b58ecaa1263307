"""Predictions of other tools, `grade RUN_DIR --predictions FILE`: SWE-bench's form, as a JSON list, as lines of JSON,
or as a dictionary by id, as mini-swe-agent writes it.

The whole file is read and checked before anything runs, so that a wrong id does not surface after an hour of tests.
Predictions never affect each other's grades.
"""

import codecs
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from selfplay.artifact import Bug
from selfplay.artifact.decoding import parse_json, text_memory
from selfplay.artifact.reading import UntrustedDataError, opened_named
from selfplay.commands.checking import CheckWatcher
from selfplay.commands.event_loop import in_parallel
from selfplay.commands.grade import gradable, graded
from selfplay.curriculum.stored_bugs import bug_folders, prepared_for, read_bug
from selfplay.curriculum.trust import NotTrusted, times
from selfplay.curriculum.untrusted_sqlite import LARGER
from selfplay.errors import SelfplayError
from selfplay.export.names import bug_id_of
from selfplay.formatting import count, shortened
from selfplay.oracle.assurance import Weak
from selfplay.oracle.errors import GradingLost, PredictionError
from selfplay.oracle.grades import Grade
from selfplay.oracle.reasons import OVER_LIMITS, UNPLAYED, reason_in_words
from selfplay.oracle.safely import safely
from selfplay.repository import Prepared
from selfplay.sandbox import MIB, Backend, Cause, SandboxError
from selfplay.sandbox.retry import again

MOST_MEMORY, MOST_LINE, MOST_LINES = 64 * MIB, 16 * MIB, 1_000_000
"""The most memory of all predictions together, and the most bytes of one line. A list is read whole and counts three
times."""
_KEYS = {"instance_id", "model_patch"}
_FORM = (
    'Each entry is {"instance_id": "<bug>", "model_patch": "<git diff>"}, in a JSON list, one a line, '
    "or in a dictionary by id."
)


def read_predictions(path: Path) -> dict[str, str]:
    """Bug -> diff. A `model_patch` of null is an empty diff. Raises `PredictionError` naming the wrong entry."""
    try:
        with opened_named(path, MOST_MEMORY * times()) as stream:
            found = _by_bug(path, _entries(path, stream))
    except UntrustedDataError as error:
        kind = "unreadable" if "cannot be read" in error.message or "is missing" in error.message else "malformed"
        raise PredictionError(kind, error.message, _FORM) from error
    except OSError as error:
        raise PredictionError("unreadable", f"{shortened(path)} cannot be read: {error.strerror}", _FORM) from error
    if not found:
        raise PredictionError("empty", f"{path} has no prediction", _FORM)
    return found


def _by_bug(path: Path, entries: Iterable[Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise PredictionError("malformed", f"{path}: an entry is not an object", _FORM)
        bug, diff = entry.get("instance_id"), entry.get("model_patch")
        diff = "" if diff is None and "model_patch" in entry else diff
        if not isinstance(bug, str) or not isinstance(diff, str):
            raise PredictionError("malformed", f"{path}: entry {number} has no instance_id or no model_patch", _FORM)
        if bug in found:
            raise PredictionError(
                "malformed", f"{path}: entry {number} is the second for {bug[:200]!r}", "Keep one per bug."
            )
        found[bug] = diff
    return found


def _entries(path: Path, stream: IO[bytes]) -> Iterator[Any]:
    """The entries, one at a time if the file has one per line. Raises `PredictionError` and `UntrustedDataError`."""
    lines = _lines(path, stream)
    first = next(lines, None)
    if first is None:
        return
    alone, second = _alone(path, first), next(lines, None)
    if isinstance(alone, dict) and (second is not None or _KEYS & alone.keys()):
        yield alone
        for line in (second, *lines) if second is not None else ():
            yield parse_json(line, str(path), halves=True)
        return
    whole = first + (second or b"") + stream.read(MOST_MEMORY * times() // 3)
    _within(path, 3 * text_memory(whole))
    yield from _listed(path, parse_json(whole, str(path), halves=True))


def _lines(path: Path, stream: IO[bytes]) -> Iterator[bytes]:
    """The non-empty lines, within limits for each and for all together."""
    memory, longest = 0, MOST_LINE * times()
    for number, line in enumerate(iter(lambda: stream.readline(longest + 1), b""), 1):
        line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        if number > MOST_LINES:
            raise PredictionError("oversized", f"{path} has more than {MOST_LINES} lines", LARGER)
        if len(line) > longest:
            raise PredictionError("oversized", f"{path}: line {number} has more than {longest // MIB} MiB", LARGER)
        memory += text_memory(line)
        _within(path, memory)
        if line.strip():
            yield line


def _within(path: Path, memory: int) -> None:
    most = MOST_MEMORY * times()
    if memory > most:
        raise PredictionError("oversized", f"{path} takes more than {most // MIB} MiB of memory", LARGER)


def _alone(path: Path, line: bytes) -> Any:
    """The value of a line; None if it is a part of a longer value."""
    try:
        return parse_json(line, str(path), halves=True)
    except UntrustedDataError:
        return None


def _listed(path: Path, value: Any) -> list[Any]:
    """The entries of a list, of a dictionary by id (whose entries may repeat the id), or a single entry."""
    if not isinstance(value, dict) or _KEYS & value.keys():
        return value if isinstance(value, list) else [value]
    for bug, entry in value.items():
        if isinstance(entry, dict) and entry.setdefault("instance_id", bug) != bug:
            told = f"{path}: the entry of {bug!r} is for {entry['instance_id']!r}"
            raise PredictionError("malformed", told, _FORM)
    return list(value.values())


@dataclass(frozen=True)
class GradingOptions:
    """How predictions are graded. `workers`: so many at a time; `trust`: allow what the run wants to run or fetch."""

    workers: int
    counterfactual: bool = True
    weak: Weak = "count"
    trust: bool = False


def grade_predictions(
    run: Path,
    predictions: dict[str, str],
    backend: Backend,
    how: GradingOptions,
) -> Iterator[tuple[str, Grade]]:
    """(bug, grade) as they finish; the grade of a bug that cannot be graded says so. Bugs may have their names from an
    exported dataset.

    Raises `PredictionError` for ids that are not bugs of the run, and `NotTrusted`, before anything runs."""
    folders = {folder.name: folder for folder in bug_folders(run)}
    predictions = _own_names(predictions, folders.keys())
    if unknown := sorted(predictions.keys() - folders.keys()):
        raise PredictionError(
            "unknown-bug",
            f"{count(len(unknown), 'prediction is', 'predictions are')} for no bug of {run}, first {unknown[0]!r}",
            f"Its bugs are those in {run / 'bugs'}.",
        )  # fmt: skip
    origins: dict[tuple[str, str], Prepared] = {}
    prepared = {bug: _prepared(folders[bug], origins, backend, how.trust) for bug in sorted(predictions)}

    def work(bug: str, lease: Backend) -> Grade:
        found = prepared[bug]
        if isinstance(found, Grade):
            return found
        diff = predictions[bug]
        return safely(lambda: graded(gradable(folders[bug], found), diff, lease, how.counterfactual, how.weak))

    with closing(in_parallel(prepared, work, how.workers, backend, _unplayed)) as results:
        yield from results


def grade_file_of_predictions(
    run: Path, file: Path, backend: Backend, watcher: CheckWatcher, how: GradingOptions
) -> dict[str, Grade]:
    """Bug -> grade, sorted, for a file of predictions. Raises what `read_predictions` and `grade_predictions` raise."""
    predictions, grades = read_predictions(file), dict[str, Grade]()
    watcher.expect(len(predictions), "grading")
    for bug, grade in grade_predictions(run, predictions, backend, how):
        grades[bug] = grade
        watcher.done(f"{bug}: {reason_in_words(grade.reason)}")
    return dict(sorted(grades.items()))


def _own_names(predictions: Mapping[str, str], bugs: Collection[str]) -> dict[str, str]:
    """Predictions by bug name, translated from dataset names. Raises `PredictionError` for two of one bug."""
    found: dict[str, str] = {}
    for name, diff in predictions.items():
        bug = name if name in bugs or bug_id_of(name) not in bugs else bug_id_of(name)
        if bug in found:
            raise PredictionError("malformed", f"two predictions are for {bug[:200]!r}", "Keep one per bug.")
        found[bug] = diff
    return found


def _unplayed(bug: str, error: SelfplayError) -> Grade:
    """The grade of a prediction that is set aside, or met a limit of its sandbox again."""
    over = isinstance(error, GradingLost) and error.cause is Cause.LIMIT
    return Grade(False, OVER_LIMITS if over else UNPLAYED, error.message)


def _prepared(folder: Path, known: dict[tuple[str, str], Prepared], backend: Backend, trust: bool) -> Prepared | Grade:
    """The environment of a bug, made once for all bugs of one origin; a grade if it has none."""
    try:
        bug, _, _ = read_bug(folder)
        if _origin(bug) not in known:
            known[_origin(bug)] = again(lambda: prepared_for(folder, bug, backend, trust=trust))
        return known[_origin(bug)]
    except (SandboxError, NotTrusted):
        raise
    except SelfplayError as error:
        return Grade(False, "cannot-be-graded", error.message)


def _origin(bug: Bug) -> tuple[str, str]:
    return bug.tree_hash, str(bug.environment)
