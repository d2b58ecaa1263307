"""A diff as plain values, line by line, for a page that shows both sides; an unreadable diff as plain lines."""

from collections.abc import Sequence
from typing import Any

from selfplay import patches
from selfplay.patches import FilePatch, Hunk, PatchError
from selfplay.plain_text import printable, well_formed
from selfplay.report.html.highlight import runs

MOST_FILES, MOST_LINES, LONGEST = 100, 2_000, 2_000
"""The most lines of one diff, and characters of one line. Omitted ones are counted."""


def clean(text: str) -> str:
    """One line for display: tabs as blanks; invisible and control characters as U+FFFD."""
    line = printable(well_formed(text).replace("\n", "\ufffd").expandtabs(4))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} [... {len(line) - LONGEST} characters cut ...]"


def clean_text(text: str, most: int) -> str:
    """Lines of text for display; only the head and the tail if they exceed `most` characters."""
    if len(text) > most:
        half = most // 2
        text = f"{text[:half]}\n[... {len(text) - 2 * half} characters cut ...]\n{text[-half:]}"
    return "\n".join(map(clean, text.split("\n")))


def diff_value(text: str) -> dict[str, Any]:
    """`files`, each with its hunks; `left`: the number of omitted lines; `why`: why a diff cannot be read."""
    try:
        sections = patches.parse(text)
    except PatchError as error:
        lines = text.split("\n")
        return {"why": clean(error.message), "raw": [clean(line) for line in lines[:MOST_LINES]],
                "left": max(0, len(lines) - MOST_LINES)}  # fmt: skip
    files, room = [], MOST_LINES
    for section in sections[:MOST_FILES]:
        files.append(_file(section, room))
        room -= sum(len(hunk["l"]) for hunk in files[-1]["hunks"])
    every = sum(len(hunk.lines) for section in sections for hunk in section.hunks)
    return {"files": files, "left": every - (MOST_LINES - room), "more": max(0, len(sections) - MOST_FILES)}


def _file(section: FilePatch, room: int) -> dict[str, Any]:
    hunks = []
    for hunk in section.hunks:
        if room <= 0:
            break
        hunks.append(_hunk(section.path, hunk, room))
        room -= len(hunks[-1]["l"])
    found: dict[str, Any] = {
        "path": clean(section.path), "kind": section.kind, "added": section.added, "removed": section.removed,
        "hunks": hunks,
    }  # fmt: skip
    if section.old_path and section.old_path != section.path:
        found["old"] = clean(section.old_path)
    if section.binary:
        found["binary"] = True
    return found


def _hunk(path: str, hunk: Hunk, room: int) -> dict[str, Any]:
    """`o`, `n`: the first line's numbers; `l`: the lines with their marks; `y`: their colours."""
    lines = [line[:1] + clean(line[1:]) for line in hunk.lines[:room]]
    return {
        "o": hunk.old_start, "n": hunk.new_start, "s": clean(hunk.section.strip())[:200], "l": lines,
        "y": _colours(path, lines),
    }  # fmt: skip


def _colours(path: str, lines: Sequence[str]) -> list[str]:
    """Each side is coloured as a whole, since a string or a comment may span its lines."""
    found = [""] * len(lines)
    for side in ("-", "+"):
        places = [at for at, line in enumerate(lines) if line[:1] in (" ", side)]
        if any(lines[at][:1] == side for at in places) or side == "+":
            for at, run in zip(places, runs(path, [lines[at][1:] for at in places]), strict=True):
                found[at] = run
    return found
