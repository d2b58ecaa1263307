"""Places of a parsed source as cuts of lines."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from tree_sitter import Node

from selfplay.scripted.edits.cuts import Cut
from selfplay.syntax import Source
from selfplay.syntax.source import first_line, last_line

_OPENS = re.compile(rb"(?:=|=>| \(|:|(?<![\w$.])return)$")
"""The end of a line on whose next line an expression stands alone."""
_COMMENT = re.compile(rb"//|/\*|\*/|^\s*\*")
LINE = 80
"""Bytes of a line that is joined, at most."""


def replaced(source: Source, start: int, end: int, new: str, what: str) -> Cut:
    """The bytes `start`..`end` replaced, as a cut of the whole lines they stand on; lines left blank go too. What was
    broken over several lines and fits into one now is joined."""
    data = source.data
    left = data.rfind(b"\n", 0, start) + 1
    right = data.find(b"\n", end)
    right = len(data) if right < 0 else right
    if b"\n" in data[start:end] and b"\n" not in new.encode() and (joined := _joined(data, start, end, new)):
        start, end, new, left, right = joined
    first = bisect_right(source.starts, left)
    last = first + data.count(b"\n", left, right)
    text = (data[left:start] + new.encode() + data[end:right]).decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    return Cut(first, last, tuple(line.rstrip() for line in lines) if text.strip() else (), what)


def _joined(data: bytes, start: int, end: int, new: str) -> tuple[int, int, str, int, int] | None:
    """The replacement made larger by the line break before it, and by that before the last step of a chain: start, end,
    new text, and the bounds of the lines. None where nothing is to be joined, or the line would get long."""
    left = data.rfind(b"\n", 0, start) + 1
    above = data.rfind(b"\n", 0, max(0, left - 1)) + 1
    opened = data[above : left - 1].rstrip() if left else b""
    begins = left
    if not data[left:start].strip() and _OPENS.search(opened) and not _COMMENT.search(opened):
        glue = "" if opened.endswith(b"(") else " "
        start, new, begins = above + len(opened), glue + new, above
    right = data.find(b"\n", end)
    right = len(data) if right < 0 else right
    below = data.find(b"\n", right + 1)
    below = len(data) if below < 0 else below
    step, after = data[right + 1 : below], data[below + 1 : below + 200].lstrip()
    if not data[end:right].strip() and step.lstrip().startswith(b".") and not after.startswith(b"."):
        new, end, right = new + step.strip().decode("utf-8", "surrogateescape"), below, below
    if (begins, right) == (left, data.find(b"\n", end)) or len(data[begins:start]) + len(new) > LINE:
        return None
    return start, end, new, begins, right


def without(source: Source, nodes: Sequence[Node], what: str) -> Cut | None:
    """Neighbouring statements gone with the comments directly above them, and a blank line that would be doubled; None
    when they share a line with something else."""
    first, last = nodes[0], nodes[-1]
    lines = source.lines
    start, end = first_line(first), last_line(last)
    before = lines[start - 1][: first.start_point[1]].strip()
    after = lines[end - 1][last.end_point[1] :].strip(b"; \t\r") if last.end_point[1] else b""
    if before or (after and not after.startswith((b"//", b"/*"))):
        return None
    above = first.prev_named_sibling
    if above is None and (holder := source.parent(first)) is not None and holder.type == "statement_list":
        above = holder.prev_named_sibling  # of a Go block, whose first comments stand before its statements
    while above is not None and above.type == "comment" and _describes(above, start, source) and _alone(above, lines):
        start, above = first_line(above), above.prev_named_sibling
    start, end = closed_up(lines, start, end)
    return Cut(start, min(end, len(lines)), (), what)


def closed_up(lines: Sequence[bytes], start: int, end: int) -> tuple[int, int]:
    """The lines that go, with a blank one that would be doubled, or stand at the edge of a block."""
    blank_above = start > 1 and not lines[start - 2].strip()
    opens = start == 1 or lines[start - 2].rstrip().endswith((b"{", b"("))
    if end < len(lines) and not lines[end].strip() and (blank_above or opens):
        return start, end + 1
    if blank_above and end < len(lines) and lines[end].strip()[:1] in (b"}", b")"):
        return start - 1, end
    return start, end


def element(source: Source, node: Node) -> tuple[int, int]:
    """The bytes of an element of a list with the comma behind it; of the last one with the comma before it."""
    after, before = node.next_sibling, node.prev_sibling
    if after is not None and after.type == ",":
        following = after.next_sibling
        same_line = following is not None and following.start_point[0] == after.end_point[0] and following.is_named
        return node.start_byte, following.start_byte if same_line and following is not None else after.end_byte
    if before is not None and before.type == ",":
        return before.start_byte, node.end_byte
    return node.start_byte, node.end_byte


def _alone(comment: Node, lines: Sequence[bytes]) -> bool:
    return not lines[comment.start_point[0]][: comment.start_point[1]].strip()


def _describes(comment: Node, start: int, source: Source) -> bool:
    """Whether a comment belongs to what begins on line `start`: it stands directly above, or, where it is one for
    documentation, above a blank line."""
    gap = start - 1 - last_line(comment)
    documents = source.data.startswith(b"/**", comment.start_byte) and not source.lines[start - 2].strip()
    return gap == 0 or (gap == 1 and documents)
