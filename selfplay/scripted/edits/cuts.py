"""Edits of one source file as values: line ranges and their replacement."""

import ast
import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from selfplay.patches.line_diff import opcodes
from selfplay.patches.lines import split_lines
from selfplay.python_source import shared_tree, syntax_tree

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `syntax_tree` raises for a text that this interpreter does not parse."""
MOST_LINES, MOST_CHARACTERS, LONGEST_LINE = 1000, 50_000, 1000
"""Limit for a function that is changed. Longer functions were generated, and cost more than in proportion."""


def trees_of(texts: Mapping[str, str]) -> dict[str, ast.Module]:
    """The parsed sources by path, without what does not parse under this interpreter, and without files that have a
    lone CR: it ends a line for Python, but not for git."""
    parsed = {}
    for path, text in texts.items():
        try:
            if "\r" not in text.replace("\r\n", "\n"):
                parsed[path] = syntax_tree(text)
        except UNREADABLE:
            continue
    return parsed


@dataclass(frozen=True)
class Cut:
    """Lines `start`..`end` (1-based, inclusive) of a file replaced by `lines`; `what` describes it in words.

    With `end == start - 1` no line is removed and `lines` are inserted before `start`. `case`: where the cut leaves out
    what one case needs, the first and the last line that run in that case alone; (0, 0) for a part of a line.
    """

    start: int
    end: int
    lines: tuple[str, ...] = ()
    what: str = ""
    case: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """Changed lines: removed plus added."""
        return self.end - self.start + 1 + len(self.lines)

    def ended(self, end: str) -> list[str]:
        """The new lines with their ends: `end`, unless a line taken from the file has a CR already."""
        return [f"{line}\n" if line.endswith("\r") else f"{line}{end}" for line in self.lines]

    def overlaps(self, other: "Cut") -> bool:
        return self.start <= other.end and other.start <= self.end


@dataclass(frozen=True)
class PlantedChange:
    """The new content of one file: `after` is None when the file is deleted. `cuts` are in lines of `before`."""

    path: str
    before: str
    after: str | None
    cuts: tuple[Cut, ...]
    what: str

    @property
    def size(self) -> int:
        return sum(cut.size for cut in self.cuts)


def apply_cuts(text: str, cuts: Iterable[Cut]) -> str:
    """`text` with every cut made. Cuts must not overlap."""
    lines, end = split_lines(text), line_end(text)
    for cut in sorted(cuts, key=lambda cut: (cut.start, cut.end), reverse=True):
        lines[cut.start - 1 : cut.end] = cut.ended(end)
    return "".join(lines)


def line_end(text: str) -> str:
    """The line end of `text`, taken from its first line."""
    return "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"


def change(path: str, text: str, cuts: Sequence[Cut]) -> PlantedChange | None:
    """The change these cuts make; None when the result does not parse or is the same program."""
    after = apply_cuts(text, cuts)
    try:
        same = _program(after) == _program(text)
    except UNREADABLE:
        return None
    what = "; ".join(dict.fromkeys(cut.what for cut in cuts if cut.what))
    return None if same else PlantedChange(path, text, after, tuple(cuts), what)


@functools.lru_cache(maxsize=64)
def _program(text: str) -> bytes:
    """A digest of the program in a source. Cached, because one file is changed in many forms."""
    return hashlib.sha256(ast.dump(shared_tree(text)).encode("utf-8", "surrogatepass")).digest()


def is_of_moderate_size(function: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether a function is short enough to be changed. `lines` are those of the whole file."""
    own = lines[function.lineno - 1 : function.end_lineno]
    return (
        len(own) <= MOST_LINES
        and sum(map(len, own)) <= MOST_CHARACTERS
        and max(map(len, own), default=0) <= LONGEST_LINE
    )


def replaced(number: int, start: int, end: int, text: str, what: str, lines: Sequence[str]) -> Cut:
    """The line `number` with its bytes `start`..`end` replaced (the parser counts columns in UTF-8 bytes)."""
    data = lines[number - 1].rstrip("\n").encode("utf-8", "surrogateescape")
    line = (data[:start] + text.encode() + data[end:]).decode("utf-8", "surrogateescape")
    return Cut(number, number, (line,), what)


def cuts_between(head: str, merged: str) -> tuple[Cut, ...]:
    """What turns HEAD into `merged`, as cuts of HEAD."""
    before, after = split_lines(head), split_lines(merged)
    return tuple(
        Cut(i + 1, j, tuple(line.rstrip("\n") for line in after[k:m]))
        for tag, i, j, k, m in opcodes(before, after)
        if tag != "equal"
    )


def first_line(node: ast.stmt) -> int:
    """The line a statement begins on; for a decorated definition that of its first decorator."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(node: ast.stmt | ast.expr | ast.excepthandler) -> int:
    return node.end_lineno or node.lineno


def shares_line(statements: Sequence[ast.stmt], lines: Sequence[str]) -> bool:
    """Whether a neighbour of these statements shares their first or last line (`a; b`, `if x: y`)."""
    first, last = statements[0], statements[-1]
    before = lines[first_line(first) - 1].encode()[: first.col_offset].decode("utf-8", "replace")
    after = lines[last_line(last) - 1].encode()[last.end_col_offset or 0 :].decode("utf-8", "replace").strip()
    return (bool(before.strip()) and not before.lstrip().startswith("@")) or after.startswith(";")


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def with_comments(lines: Sequence[str], start: int) -> int:
    """The first line of the comment block directly above line `start` at the same indent (else `start`).

    A comment that describes the removed code would show where the bug is, so it is removed with the code.
    """
    indent = indent_of(lines[start - 1])
    while start > 1 and lines[start - 2].startswith(indent + "#"):
        start -= 1
    return start


def without_gap(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """The lines with as many of the blank lines after them as stand before them too: no gap is left wider than it was.
    At the beginning of a file or a block none are left."""
    before = start - 1
    while before > 0 and not lines[before - 1].strip():
        before -= 1
    blank = start - 1 - before
    opens = before == 0 or lines[before - 1].rstrip().endswith(":")
    while end < len(lines) and not lines[end].strip() and (blank or opens):
        blank, end = blank - 1, end + 1
        if blank <= 0 and not opens:
            break
    return start, end
