"""Finds comments that reveal the change: the original code kept as a comment, or words that say what was done.

A simple check of the text, for any language; it finds nothing subtler. Its time is linear in the length of the diff,
because a model wrote the text.
"""

import re
from collections.abc import Iterable
from itertools import groupby

from selfplay.patches import FilePatch

MIN_CODE_CHARACTERS = 6
MIN_QUOTED_CHARACTERS = 10
MAX_QUOTED_CHARACTERS = 60
"""For lines longer than this many characters, a comment that contains this much of the beginning counts as a quote."""
_BEHIND_CODE = re.compile(r"\s(?:#|//|/\*|--)\s")
_MARK = re.compile(r"#+|//+|/\*+|\*|--|;+|%+|<!--|'|REM ")
_TELLING = re.compile(
    r"\b(?:inject|plant|introduc|intentional|deliberate|artificial)\w*\b.{0,40}\b(?:bug|fault|defect|mutation)\b"
    r"|\b(?:bug|fault|defect|mutation)\b.{0,40}\b(?:inject|plant|introduc|intentional|deliberate|artificial)\w*\b",
    re.IGNORECASE,
)


def find_hint(patches: Iterable[FilePatch]) -> str:
    """The first hint in these patches, as the end of a sentence; empty if there is none."""
    for patch in patches:
        removed = {line.strip() for line in patch.removed_lines}
        added = {line.strip() for line in patch.added_lines}
        originals = {_squeezed(line) for line in removed - added if _is_code(line)}
        quotable = _by_beginning(originals)
        for line in patch.added_lines:
            text = _comment_text(line)
            if (text and _squeezed(text) in originals) or _quotes(line, quotable):
                return f"comments out the original in {patch.path!r}: {line.strip()[:80]!r}"
            if line.strip() not in removed and _TELLING.search(text or _behind_code(line)):
                return f"says what it is in {patch.path!r}: {line.strip()[:80]!r}"
    return ""


def _by_beginning(originals: Iterable[str]) -> dict[str, set[str]]:
    """The lines long enough not to match by chance, cut to the part that is compared, grouped by their beginning."""
    long = sorted(line[:MAX_QUOTED_CHARACTERS] for line in originals if len(line) >= MIN_QUOTED_CHARACTERS)
    return {start: set(lines) for start, lines in groupby(long, lambda line: line[:MIN_QUOTED_CHARACTERS])}


def _quotes(line: str, quotable: dict[str, set[str]]) -> bool:
    """Whether a comment after code contains a whole original line."""
    behind = _squeezed(_behind_code(line)) if quotable else ""
    for at in range(len(behind) - MIN_QUOTED_CHARACTERS + 1):
        if lines := quotable.get(behind[at : at + MIN_QUOTED_CHARACTERS]):
            longest = behind[at : at + MAX_QUOTED_CHARACTERS]
            if any(longest[:end] in lines for end in range(MIN_QUOTED_CHARACTERS, len(longest) + 1)):
                return True
    return False


def _behind_code(line: str) -> str:
    """The text of a comment after code; empty without one."""
    found = _BEHIND_CODE.search(line, len(line) - len(line.lstrip()))
    return line[found.end() :] if found else ""


def _is_code(line: str) -> bool:
    """Whether a line is long enough not to match by chance, and not a comment."""
    return len(line) >= MIN_CODE_CHARACTERS and any(map(str.isalnum, line)) and not _comment_text(line)


def _comment_text(line: str) -> str:
    """The text of a comment line; empty for other lines."""
    line = line.strip()
    mark = _MARK.match(line)
    return line[mark.end() :].removesuffix("*/").removesuffix("-->").strip() if mark else ""


def _squeezed(line: str) -> str:
    return "".join(line.split())
