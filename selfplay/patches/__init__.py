"""Git diffs as values: read, split by file, joined, reversed; code told from tests. Knows no history and applies
nothing: applying is `git apply` inside a sandbox.
"""

from collections.abc import Iterable

from selfplay.patches.classify import is_test_file
from selfplay.patches.model import FilePatch, Hunk, PatchError
from selfplay.patches.parse import parse
from selfplay.patches.reverse import reverse

__all__ = [
    "FilePatch",
    "Hunk",
    "PatchError",
    "changed_lines",
    "is_test_file",
    "join",
    "parse",
    "reverse",
    "touched_paths",
    "units",
    "without",
]


def join(patches: Iterable[FilePatch]) -> str:
    """The diff made of these sections, exactly as they were written."""
    return "".join(patch.text for patch in patches)


def touched_paths(text: str) -> tuple[str, ...]:
    """Every path the diff reads or writes, sorted; both names of a rename. Raises `PatchError`."""
    return tuple(sorted({path for patch in parse(text) for path in patch.paths}))


def changed_lines(text: str) -> int:
    """Lines added plus lines removed; binary content counts none. Raises `PatchError`."""
    return sum(patch.added + patch.removed for patch in parse(text))


def units(text: str) -> tuple[tuple[FilePatch, ...], ...]:
    """The sections grouped into the smallest sets that can be applied or left out on their own, in order.

    Nearly always one section each. Sections that share a path (a file turned into a link, two files that trade
    names) or of which one makes a folder where another has a file belong together. Raises `PatchError`.
    """
    groups: list[list[FilePatch]] = []
    for patch in parse(text):
        related = [group for group in groups if any(_collide(patch, other) for other in group)]
        groups = [group for group in groups if group not in related]
        groups.append([*(member for group in related for member in group), patch])
    return tuple(tuple(group) for group in groups)


def _collide(one: FilePatch, other: FilePatch) -> bool:
    if one.kind == "copied" and other.kind == "copied" and one.new_path != other.new_path:
        return False  # two copies of one source only read it
    return any(
        left == right or left.startswith(f"{right}/") or right.startswith(f"{left}/")
        for left in one.paths
        for right in other.paths
    )


def without(text: str, path: str) -> str:
    """The diff less the unit that touches `path`; applying it leaves that file as the original has it.

    Raises `PatchError` when the diff is malformed or does not touch `path`.
    """
    groups = units(text)
    kept = [group for group in groups if all(path not in patch.paths for patch in group)]
    if len(kept) == len(groups):
        raise PatchError(f"the diff does not touch {path!r}")
    return join(patch for group in kept for patch in group)
