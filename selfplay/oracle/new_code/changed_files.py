"""The Python files that a prediction changes: before, after, and as the known repair has them."""

from collections.abc import Mapping
from dataclasses import dataclass

from selfplay import patches
from selfplay.oracle.new_code.suspicious_apis import PYTHON, new_data, new_powers
from selfplay.oracle.originals import original_texts
from selfplay.oracle.task import Task
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.applying import apply_diffs
from selfplay.workbench.reading import text_in


@dataclass(frozen=True)
class ChangedFiles:
    """The Python files that a prediction changes, as path -> text: as the solver got them, as the prediction leaves
    them, and as the known repair does."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    repaired: Mapping[str, str]

    def newly_used(self) -> tuple[str, ...]:
        """What they newly use that a repair seldom needs (`suspicious_apis.py`)."""
        every = self.before, self.after, self.repaired
        return (*new_powers(*every), *new_data(*every))


def changed_files(backend: Backend, task: Task, diff: str, limits: Limits) -> ChangedFiles:
    """The Python files that a prediction changes. Raises `SandboxError`."""
    python = sorted({path for section in patches.parse(diff) for path in section.paths if path.endswith(PYTHON)})
    if not python:
        return ChangedFiles({}, {}, {})
    with backend.open(task.world, limits) as sandbox:
        apply_diffs(sandbox, task.diffs)
        before = {path: text_in(sandbox, path) or "" for path in python}
        apply_diffs(sandbox, (diff,))
        after = {path: text_in(sandbox, path) or "" for path in python}
    return ChangedFiles(before, after, original_texts(task.world, python))
