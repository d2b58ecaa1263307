"""The changes of a hunk: each run of changed lines, without context."""

from collections.abc import Iterator
from dataclasses import dataclass

from selfplay.patches.model import Hunk

NO_NEWLINE = "\\"


@dataclass(frozen=True)
class Change:
    """Adjacent removed lines, and the lines that replace them, each with its line end if it has one.

    `start`: the 1-based number of the first removed line; if none is removed, of the old line before which the new
    lines are inserted.
    """

    start: int
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def lines(self) -> range:
        """The numbers of the changed old lines; for an insertion, of the line after it."""
        return range(self.start, max(self.end, self.start + 1))

    @property
    def end(self) -> int:
        """The first old line after the change."""
        return self.start + len(self.removed)


def changes(hunk: Hunk) -> Iterator[Change]:
    """The changes of one hunk, in order."""
    line = hunk.old_start + (hunk.old_count == 0)  # git names the line before an insertion
    start, removed, added = line, list[str](), list[str]()
    lines = hunk.lines
    for at, text in enumerate(lines):
        mark, content = text[:1], text[1:]
        if mark == NO_NEWLINE:
            continue
        whole = content if at + 1 < len(lines) and lines[at + 1][:1] == NO_NEWLINE else f"{content}\n"
        if mark == "+":
            added.append(whole)
            continue
        if mark == "-":
            removed.append(whole)
        elif removed or added:
            yield Change(start, tuple(removed), tuple(added))
            removed, added = [], []
        line += 1
        if mark != "-":
            start = line
    if removed or added:
        yield Change(start, tuple(removed), tuple(added))
