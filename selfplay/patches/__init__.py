"""Git diffs as values: read, split by file, joined, reversed; also decides which files are tests. It knows no git
history and does not apply diffs: `git apply` does, inside a sandbox.
"""

from collections.abc import Iterable

from selfplay.patches.classify import is_test_file
from selfplay.patches.model import FilePatch, Hunk, PatchError
from selfplay.patches.parse import parse
from selfplay.patches.reverse import deletion, reverse
from selfplay.patches.units import units

__all__ = [
    "FilePatch",
    "Hunk",
    "PatchError",
    "changed_lines",
    "deletion",
    "is_test_file",
    "join",
    "parse",
    "reverse",
    "touched_paths",
    "units",
]


def join(patches: Iterable[FilePatch]) -> str:
    """The diff made of these sections, unchanged."""
    return "".join(patch.text for patch in patches)


def touched_paths(text: str) -> tuple[str, ...]:
    """Every path the diff reads or writes, sorted; both names of a rename. Raises `PatchError`."""
    return tuple(sorted({path for patch in parse(text) for path in patch.paths}))


def changed_lines(text: str) -> int:
    """Lines added plus lines removed; binary content counts none. Raises `PatchError`."""
    return sum(patch.added + patch.removed for patch in parse(text))
