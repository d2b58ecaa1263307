"""New Python files that nothing loads: scripts that an agent leaves behind, to reproduce a bug or to look at something.

They are taken out of a prediction before anything runs. So they may do what they like, and what is told wrongly to be
one is not there for whatever would have loaded it.
"""

from dataclasses import replace

from selfplay import patches
from selfplay.oracle.new_code.changed_files import MOST_READ, texts_around, touched_by
from selfplay.oracle.new_code.loaded_files import loaded_files
from selfplay.oracle.new_code.suspicious_apis import PYTHON
from selfplay.oracle.originals import Original
from selfplay.oracle.screening.screen import Submission
from selfplay.oracle.task import Task
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.applying import DoesNotApply

WHY = "is a new file that nothing loads"


def without_left_files(backend: Backend, task: Task, found: Submission, limits: Limits) -> Submission:
    """The submission without such files. Opens a sandbox only if there are new files; raises `SandboxError`."""
    original = Original(task.world, task.diffs)
    new = {section.new_path for section in found.sections if section.kind != "modified" and section.new_path}
    new = {path for path in new if path.endswith(PYTHON) and not original.there(path)}
    paths = sorted({path for one in found.sections for path in one.paths if path.endswith(PYTHON)})
    if not new or len(paths) > MOST_READ:  # of so many, those that are read tell nothing; the grade says it
        return found
    try:
        _, after = texts_around(backend, task, found.diff, paths, limits)
    except DoesNotApply:
        return found  # the run will report it
    known = {path: text for path, text in after.items() if path not in new}
    loaded = loaded_files({path: after[path] for path in new}, known, original, touched_by(task)[1])
    left = tuple(one for one in found.sections if one.kind == "added" and one.new_path in new - loaded)
    if not left:
        return found
    kept = tuple(one for one in found.sections if one not in left)
    gone = tuple((one.new_path or "", WHY) for one in left)
    return replace(found, diff=patches.join(kept), sections=kept, left_out=(*found.left_out, *gone))
