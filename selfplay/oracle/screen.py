"""Refuses a prediction before any test runs, when it changes tests or what runs them."""

from selfplay.oracle.originals import original_texts
from selfplay.oracle.paths import refusal
from selfplay.oracle.prediction import ReadPrediction
from selfplay.oracle.settings import changed_settings, is_settings_file
from selfplay.oracle.world import Task
from selfplay.plain import decode
from selfplay.sandbox import WORKDIR, Backend, Limits, Sandbox, SandboxError
from selfplay.workbench.staging import DoesNotApply, apply_diffs


def refused_path(task: Task, read: ReadPrediction) -> tuple[str, str] | None:
    """(reason, sentence) when the prediction changes a forbidden path; decided by the paths alone."""

    def original(path: str) -> str | None:
        return original_texts(task.world, [path]).get(path)

    return refusal(read.sections, task.artifact, original)


def refused_setting(backend: Backend, task: Task, read: ReadPrediction, limits: Limits) -> tuple[str, str] | None:
    """The same, for test settings in a file that also holds other settings. Opens a sandbox only if the prediction
    touches such a file; raises `SandboxError` when none is available."""
    script = task.artifact.test_script
    touched = {path for section in read.sections for path in section.paths if is_settings_file(path, script)}
    if not touched:
        return None
    with backend.open(task.world, limits) as sandbox:
        try:
            apply_diffs(sandbox, task.diffs)
            before = {path: _text(sandbox, path) for path in touched}
            apply_diffs(sandbox, (read.diff,))
        except DoesNotApply:
            return None  # the run will report it
        after = {path: _text(sandbox, path) for path in touched}
    reasons = (changed_settings(path, before[path], after[path], script) for path in sorted(touched))
    return next((("touches-infrastructure", why) for why in reasons if why), None)


def _text(sandbox: Sandbox, path: str) -> str | None:
    try:
        return decode(sandbox.read_file(f"{WORKDIR}/{path}"))
    except (FileNotFoundError, SandboxError):
        return None
