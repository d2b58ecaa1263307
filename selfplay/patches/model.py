"""Git diffs as values: what one section of a diff does to one file."""

from dataclasses import dataclass
from typing import Literal

from selfplay.errors import SelfplayError

Kind = Literal["modified", "added", "deleted", "renamed", "copied", "mode"]
SYMLINK_MODE = "120000"


class PatchError(SelfplayError):
    """A diff that is malformed, ambiguous, or touches forbidden paths."""


@dataclass(frozen=True)
class Hunk:
    """One `@@` block. `lines` keep their first character (space, `-`, `+`, `\\`) and do not include the line end."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class FilePatch:
    """One file's part of a diff. `old_path` is None for an added file, `new_path` for a deleted one.

    `modes` are git's (`100644`, `100755`, `120000`), None if the diff does not say. `header` holds the extended header
    lines in order, `binary_halves` the forward and (if present) backward block of a binary patch, `text` the unchanged
    section.
    """

    old_path: str | None
    new_path: str | None
    kind: Kind
    old_mode: str | None
    new_mode: str | None
    header: tuple[str, ...]
    hunks: tuple[Hunk, ...]
    binary_halves: tuple[str, ...]
    text: str

    @property
    def path(self) -> str:
        """The file's name for people: the new name, or the old name of a deleted file."""
        path = self.new_path or self.old_path
        assert path is not None  # the parser never makes a patch without a name
        return path

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path this section reads or writes, without duplicates."""
        return tuple(dict.fromkeys(path for path in (self.old_path, self.new_path) if path is not None))

    @property
    def binary(self) -> bool:
        return bool(self.binary_halves)

    @property
    def symlink(self) -> bool:
        """Whether either side is a symbolic link: its content is a target, which may point out of the tree."""
        return SYMLINK_MODE in (self.old_mode, self.new_mode)

    @property
    def added_lines(self) -> tuple[str, ...]:
        """The lines this section adds, without their `+`."""
        return self._lines("+")

    @property
    def removed_lines(self) -> tuple[str, ...]:
        """The lines this section removes, without their `-`."""
        return self._lines("-")

    @property
    def added(self) -> int:
        return len(self.added_lines)

    @property
    def removed(self) -> int:
        return len(self.removed_lines)

    def _lines(self, marker: str) -> tuple[str, ...]:
        return tuple(line[1:] for hunk in self.hunks for line in hunk.lines if line.startswith(marker))
