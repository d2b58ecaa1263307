"""Comments that give a change away: the original kept as a comment, or words that say what was done.

A lint of what can be decided from the text alone and in any language; anything subtler is not claimed.
"""

import re
from collections.abc import Iterable

from selfplay.patches import FilePatch

MIN_CODE_CHARACTERS = 6
MIN_QUOTED_CHARACTERS = 10
_BEHIND_CODE = re.compile(r"^.*?\S\s+(?:#|//|/\*|--)\s")
_COMMENT = re.compile(r"(?:#+|//+|/\*+|\*|--|;+|%+|<!--|'|REM )\s*(?P<text>\S.*?)\s*(?:\*/|-->)?$", re.DOTALL)
_TELLING = re.compile(
    r"\b(?:inject|plant|introduc|intentional|deliberate|artificial)\w*\b.{0,40}\b(?:bug|fault|defect|mutation)\b"
    r"|\b(?:bug|fault|defect|mutation)\b.{0,40}\b(?:inject|plant|introduc|intentional|deliberate|artificial)\w*\b",
    re.IGNORECASE,
)


def find_hint(patches: Iterable[FilePatch]) -> str:
    """The first giveaway in these patches, as the end of a sentence; empty when there is none."""
    for patch in patches:
        removed = {line.strip() for line in patch.removed_lines}
        added = {line.strip() for line in patch.added_lines}
        originals = {_squeezed(line) for line in removed - added if _is_code(line)}
        for line in patch.added_lines:
            text = _comment_text(line)
            if (text and _squeezed(text) in originals) or _quotes(line, originals):
                return f"comments out the original in {patch.path!r}: {line.strip()[:80]!r}"
            if text and line.strip() not in removed and _TELLING.search(text):
                return f"says what it is in {patch.path!r}: {line.strip()[:80]!r}"
    return ""


def _quotes(line: str, originals: set[str]) -> bool:
    """Whether a comment behind code holds a whole original line."""
    behind = _squeezed(_BEHIND_CODE.sub("", line, count=1)) if _BEHIND_CODE.search(line) else ""
    return any(len(original) >= MIN_QUOTED_CHARACTERS and original in behind for original in originals)


def _is_code(line: str) -> bool:
    """Long enough to be told from chance, and not itself a comment."""
    return len(line) >= MIN_CODE_CHARACTERS and any(map(str.isalnum, line)) and not _comment_text(line)


def _comment_text(line: str) -> str:
    found = _COMMENT.match(line.strip())
    return found["text"] if found else ""


def _squeezed(line: str) -> str:
    return "".join(line.split())
