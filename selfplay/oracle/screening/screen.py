"""Decides what part of a prediction is applied, before any test runs: reads it, leaves out changes of tests, and
refuses it if it affects how tests run."""

import json
from dataclasses import dataclass

from selfplay import patches
from selfplay.formatting import count
from selfplay.oracle import inside
from selfplay.oracle.errors import OracleError
from selfplay.oracle.originals import Original
from selfplay.oracle.reasons import Refusal
from selfplay.oracle.screening.import_shadowing import NewName
from selfplay.oracle.screening.path_filter import STEERS, screen
from selfplay.oracle.screening.prediction import ReadPrediction, read_prediction
from selfplay.oracle.screening.settings import changed_settings, is_settings_file
from selfplay.oracle.task import Task
from selfplay.patches import FilePatch
from selfplay.sandbox import WORKDIR, Backend, Limits, Sandbox
from selfplay.sandbox.kill_detection import believed_here
from selfplay.untrusted_json import AnswerError, answer
from selfplay.workbench.applying import DoesNotApply, apply_diffs
from selfplay.workbench.reading import ReadBudget, texts_in

LOOK_SECONDS = 60.0
_FIND = 'cd / && python=$(command -v python || command -v python3) || exit 127; exec "$python" -c "$@"'
_NO_PYTHON = 127


@dataclass(frozen=True)
class Submission:
    """What is graded. `diff`: what is applied. `left_out`: (path, why) of the rest. `refused`: why, if nothing is
    applied. `names`: new importable names. `notes`: how the text was changed."""

    diff: str = ""
    sections: tuple[FilePatch, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    refused: Refusal | None = None
    names: tuple[NewName, ...] = ()
    notes: tuple[str, ...] = ()


def submission(task: Task, prediction: bytes | str) -> Submission:
    """Screen a prediction by its text alone. Raises `PredictionError` if it is not a diff, and with the reason `empty`
    if nothing of it is left."""
    return screened(task, read_prediction(prediction, Original(task.world, task.diffs).there))


def screened(task: Task, read: ReadPrediction) -> Submission:
    """Screen a prediction that was read."""
    found = screen(read.sections, task.artifact, Original(task.world, task.diffs))
    diff = patches.join(found.kept) if found.left_out else read.diff
    return Submission(diff, found.kept, found.left_out, found.refused, found.names, read.notes)


def refused_inside(backend: Backend, task: Task, found: Submission, limits: Limits) -> Refusal | None:
    """Why it is refused, if the submission changes settings of the tests, or brings a name that would be imported in
    place of an installed module. Opens a sandbox only if needed; raises `SandboxError` when none is available."""
    script = task.artifact.test_script
    touched = {path for section in found.sections for path in section.paths if is_settings_file(path, script)}
    if not touched and not found.names:
        return None
    with backend.open(task.world, limits) as sandbox:
        installed = _installed(sandbox, found.names)
        if installed:
            said = f"{installed.path!r} would be imported in place of the installed module {installed.name!r}"
            return Refusal(STEERS, said)
        why = _changed(sandbox, task, found.diff, touched) if touched else ""
    return Refusal(STEERS, why) if why else None


def _installed(sandbox: Sandbox, names: tuple[NewName, ...]) -> NewName | None:
    """The first of the names that the world's Python finds outside the tree; None also without Python."""
    if not names:
        return None
    asked = json.dumps([[new.name, new.whole] for new in names]).encode()
    command = ["bash", "--norc", "-c", _FIND, "find", inside.text("installed.py"), WORKDIR]
    # the project's own Python, which may kill itself
    done = believed_here(sandbox, lambda: sandbox.run(command, timeout=LOOK_SECONDS, stdin=asked))
    if done.exit_code == _NO_PYTHON:
        return None
    if done.exit_code != 0 or done.timed_out:
        raise OracleError("the world's Python could not list what is installed", done.text.strip()[-300:])
    try:
        found = answer(list[str], done.stdout)
    except AnswerError as error:
        raise OracleError(f"the world's Python gave an invalid list of what is installed: {error}") from error
    return next((new for new in names if new.name in found), None)


def _changed(sandbox: Sandbox, task: Task, diff: str, touched: set[str]) -> str:
    try:
        apply_diffs(sandbox, task.diffs)
        budget = ReadBudget()
        before = texts_in(sandbox, touched, budget)
        apply_diffs(sandbox, (diff,))
    except DoesNotApply:
        return ""  # the run will report it
    after = texts_in(sandbox, touched, budget.left_for_changed())
    script = task.artifact.test_script
    reasons = (changed_settings(path, before[path], after[path], script) for path in sorted(touched))
    return next((why for why in reasons if why), "")


def nothing_left(found: Submission) -> str:
    """The sentence for a prediction whose paths were all left out."""
    path, why = found.left_out[0]
    return f"nothing of the prediction is applied: of its {count(len(found.left_out), 'path')}, {path!r} {why}"
