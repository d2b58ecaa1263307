"""Which lines of the original a bug changes."""

from collections import defaultdict

from selfplay import patches
from selfplay.oracle.world import Task
from selfplay.patches.changes import changes


def changed_numbers(task: Task, *, insertions: bool = False) -> dict[str, set[int]]:
    """Changed Python file -> numbers of the lines of the original that the bug changes or removes, with `insertions`
    also of those before which it only inserts."""
    found = defaultdict[str, set[int]](set)
    for section in (one for one in patches.parse(task.artifact.bug_inject) if (one.old_path or "").endswith(".py")):
        for change in (change for hunk in section.hunks for change in changes(hunk)):
            found[section.old_path or ""] |= {*(change.lines if insertions else range(change.start, change.end))}
    return dict(found)
