"""Builds a git diff from the commit of an R2E row, which lists it line by line. The diff parser checks hunk lengths and
paths afterwards.
"""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from selfplay import patches
from selfplay.importers.rows import ImportRefused
from selfplay.patches.quoting import name_line, quote

MOST_FILES, MOST_NUMBER = 2000, 10_000_000
_MODE = re.compile(r"(old mode|new mode|new file mode|deleted file mode) [0-7]{6}")
_ID = re.compile("[0-9a-f]{4,64}")
_SIGNS = {"context": " ", "added": "+", "deleted": "-", "note": "\\ "}
Number = Annotated[int, Field(ge=0, le=MOST_NUMBER)]


def _one_line(text: str) -> str:
    if "\n" in text:
        raise ValueError("a line of its diff contains a line break")
    return text


Line = Annotated[str, BeforeValidator(lambda value: _one_line(value) if isinstance(value, str) else value)]


class _CommitPart(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Range(_CommitPart):
    start: Number
    length: Number | None = None


class Descriptor(_CommitPart):
    old_range: Range
    new_range: Range
    section: Line = ""


class DiffLine(_CommitPart):
    content: Line
    type: Literal["context", "added", "deleted", "note"]


class Group(_CommitPart):
    all_lines: tuple[DiffLine, ...] = ()


class HunkPart(_CommitPart):
    descriptor: Descriptor
    line_group: Group


class Name(_CommitPart):
    path: Line = Field(min_length=1, max_length=4096)


class PatchHeader(_CommitPart):
    file: Name
    misc_line: str | None = Field(default=None, max_length=1000)


class IndexLine(_CommitPart):
    old_commit_hash: str
    new_commit_hash: str
    mode: str = Field(default="", max_length=6)


class FilePart(_CommitPart):
    header: PatchHeader
    index_line: IndexLine | None = None
    is_binary_file: bool = False
    hunks: tuple[HunkPart, ...] = ()


class Commit(_CommitPart):
    """`new_commit_hash`: the repaired state. The hash of the old one is not a hash in these rows."""

    file_diffs: tuple[FilePart, ...] = Field(max_length=MOST_FILES)
    new_commit_hash: str


def diff_of(commit: Commit) -> str:
    """The diff from the old state to the new. Raises `ImportRefused`, and `PatchError` for an invalid diff."""
    text = "".join(_section(part) for part in commit.file_diffs)
    patches.parse(text)
    return text


def _section(part: FilePart) -> str:
    path = part.header.file.path
    if part.is_binary_file:
        raise ImportRefused(f"its commit changes {path[:200]!r}, a binary file, whose content no R2E row has")
    if '"' in path or "\\" in path:  # the writer of these rows drops the quotes that would say how to read it
        raise ImportRefused(f"its commit changes {path[:200]!r}, an ambiguous name")
    modes = [line for line in (part.header.misc_line or "").split("\n") if line]
    if odd := next((line for line in modes if not _MODE.fullmatch(line)), None):
        raise ImportRefused(f"the header of {path[:200]!r} says {odd[:100]!r}, which is not a mode")
    lines = [f"diff --git {quote(f'a/{path}')} {quote(f'b/{path}')}", *modes, *_index(part)]
    if part.hunks:
        new, gone = (any(line.startswith(kind) for line in modes) for kind in ("new file", "deleted file"))
        lines += [name_line("---", "a", None if new else path), name_line("+++", "b", None if gone else path)]
    for hunk in part.hunks:
        lines += _hunk(hunk)
    return "".join(f"{line}\n" for line in lines)


def _index(part: FilePart) -> list[str]:
    """The index line, which has the mode of a file that keeps its mode: only it marks a link."""
    if part.index_line is None:
        return []
    old, new, mode = part.index_line.old_commit_hash, part.index_line.new_commit_hash, part.index_line.mode
    if not _ID.fullmatch(old) or not _ID.fullmatch(new) or not re.fullmatch("|[0-7]{6}", mode):
        raise ImportRefused(f"the index line of {part.header.file.path[:200]!r} is malformed")
    return [f"index {old}..{new} {mode}".rstrip()]


def _hunk(hunk: HunkPart) -> list[str]:
    """A hunk's lines. The writer of these rows adds an empty line to the last hunk for the end of the diff."""
    told, lines = hunk.descriptor, list(hunk.line_group.all_lines)
    old = sum(line.type in ("context", "deleted") for line in lines)
    if old == _length(told.old_range) + 1 and (lines[-1].type, lines[-1].content) == ("context", ""):
        lines.pop()
    section = f" {told.section}" if told.section else ""
    head = f"@@ -{_range(told.old_range)} +{_range(told.new_range)} @@{section}"
    return [head, *(_SIGNS[line.type] + line.content for line in lines)]


def _length(side: Range) -> int:
    return 1 if side.length is None else side.length


def _range(side: Range) -> str:
    return str(side.start) if side.length is None else f"{side.start},{side.length}"
