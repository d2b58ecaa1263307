"""The files that a prediction changes: its Python files before, after, and as the known repair has them, and what it
does to others."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from selfplay import patches
from selfplay.oracle.new_code.least_python import needs_newer
from selfplay.oracle.new_code.other_files import changed_beside, unread_code
from selfplay.oracle.new_code.suspicious_apis import PYTHON, new_data, new_powers
from selfplay.oracle.originals import Original, original_texts
from selfplay.oracle.task import Task
from selfplay.plain_text import encode
from selfplay.python_source import HeavySource, syntax_tree
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.applying import apply_diffs
from selfplay.workbench.reading import ReadBudget, texts_in

MOST_READ = 200
"""Python files of a prediction that are read, those that the bug touched first; a repair changes few."""


@dataclass(frozen=True)
class ChangedFiles:
    """The Python files that a prediction changes, as path -> text: as the solver got them, as the prediction leaves
    them, and as the known repair does. `unread`, `others`: sentences about code that it adds in other files, and about
    what else it changes."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    repaired: Mapping[str, str]
    unread: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def newly_used(self) -> tuple[str, ...]:
        """What they newly use that a repair seldom needs (`suspicious_apis.py`)."""
        powers = new_powers(self.before, self.after, self.repaired)
        return (*powers, *new_data(self.before, self.after, self.repaired), *self.unread)


def changed_files(backend: Backend, task: Task, diff: str, limits: Limits) -> ChangedFiles:
    """The files that a prediction changes. Raises `SandboxError`."""
    sections, original = patches.parse(diff), Original(task.world, task.diffs)
    touched, folders = touched_by(task)
    unread = tuple(why for section in sections if (why := unread_code(section, original, folders)))
    others = tuple(changed_beside(sections, touched, original, folders))
    python = sorted({path for section in sections for path in section.paths if path.endswith(PYTHON)})
    if not python:
        return ChangedFiles({}, {}, {}, unread=unread, others=others)
    if len(python) > MOST_READ:
        python.sort(key=lambda path: path not in touched)
        unread += (f"it changes {len(python)} Python files, of which {MOST_READ} are read",)
    before, after = texts_around(backend, task, diff, python[:MOST_READ], limits)
    repaired = original_texts(task.world, [*before])
    unread += tuple(_too_costly(after, before))
    others += tuple(needs_newer(before, after, original))
    return ChangedFiles(before, after, repaired, unread, others)


def touched_by(task: Task) -> tuple[set[str], set[str]]:
    """The paths that the bug changed, and their folders."""
    touched = {path for known in task.diffs for path in patches.touched_paths(known)}
    return touched, {folder for path in touched if (folder := posixpath.dirname(path))}


def texts_around(
    backend: Backend, task: Task, diff: str, paths: Sequence[str], limits: Limits
) -> tuple[dict[str, str], dict[str, str]]:
    """Path -> text of these files as the solver got them, and as the prediction leaves them; empty for one that is not
    there. Raises `ReadTooMuch`, and `SandboxError`."""
    budget = ReadBudget()
    with backend.open(task.world, limits) as sandbox:
        apply_diffs(sandbox, task.diffs)
        before = texts_in(sandbox, paths, budget)
        apply_diffs(sandbox, (diff,))
        after = texts_in(sandbox, paths, budget.left_for_changed())
    return {path: text or "" for path, text in before.items()}, {path: text or "" for path, text in after.items()}


def _too_costly(after: Mapping[str, str], before: Mapping[str, str]) -> Iterator[str]:
    """Sentences about files that are not read any more, since reading them would take too much time or memory."""
    for path, text in after.items():
        if (why := _cost(text)) and not _cost(before[path]):
            yield f"its {path} is not read: {why}"


def _cost(text: str) -> str:
    """Why a source is too costly to read; empty if it is not."""
    try:
        syntax_tree(encode(text))
    except HeavySource as error:
        return str(error)
    except (SyntaxError, ValueError):
        pass
    return ""
