"""Handles the text around the sections of a diff: mails, logs, output of programs and models.

`git apply` and `patch` skip it, and so does this module, unless it looks like a piece of a diff: then a section was cut
off or lost its header, and the diff would mean less than its author intended.
"""

import re

from selfplay.patches.lines import Lines
from selfplay.patches.model import PatchError
from selfplay.patches.parse import INDEX

_STRUCTURE = ("diff ", "--- ", "+++ ", "@@", "*** ")
_LOST = re.compile(
    r"(?:old mode|new mode|deleted file mode|new file mode) \d{6}|(?:dis)?similarity index \d{1,3}%|GIT binary patch"
)
_ENCODED = re.compile(r"content-transfer-encoding:[ \t]*(?:quoted-printable|base64)", re.IGNORECASE)
_NO_CONTENT = ("Binary files ", "Cannot display: ")
_BETWEEN = re.compile(r"=+|RCS file: .*|retrieving revision .*|diff -.*", re.DOTALL)
_COMBINED = ("diff --cc ", "diff --combined ")
_ANNOUNCED = ("diff -", "Index: ")


class Outside:
    """Reads the lines outside the sections, and collects notes for the user."""

    def __init__(self) -> None:
        self._sections = 0
        self._begun = True
        self._text = False
        self._only_in: list[str] = []
        self._fences: list[int] = []

    def pass_over(self, lines: Lines, sections: int) -> None:
        """Take one line (or the announcement of a section); `sections`: the number of sections read before. Raises
        `PatchError`."""
        line = lines.take()
        if sections != self._sections:  # a section has just ended: this may be the rest of its last hunk
            self._sections, self._begun = sections, False
        if not line.strip():
            return
        if not self._begun and line[0] in "+- \\" and line.rstrip() != "--":  # `-- ` begins the signature of a mail
            raise lines.error("a hunk is longer than its header says")
        self._begun = self._text = True
        if line.startswith("```"):
            self._fences.append(sections)
        elif line.startswith("Only in "):
            self._only_in.append(line)
        elif line.startswith(_NO_CONTENT):
            raise lines.error("it names a file without its content", "Make the diff with `git diff --binary`.")
        elif line.startswith(_ANNOUNCED) and not line.startswith(_COMBINED):
            _announced(line, lines)
        elif line.startswith(_STRUCTURE) or _LOST.fullmatch(line) or INDEX.fullmatch(line):
            raise lines.foreign(line, "A section was cut off, or lost its header.")
        elif _ENCODED.match(line):
            raise lines.error("the mail's text is encoded", "Decode it first.")

    def check(self, sections: int) -> None:
        """Raises `PatchError` if there are several fenced blocks: they may be several answers."""
        if len(self._fences) > 2 or (len(self._fences) == 2 and self._fences != [0, sections]):
            raise PatchError("the text has several blocks between fences, or diffs outside of one", "Hand in one diff.")

    def notes(self) -> tuple[str, ...]:
        said = ("text around the diff was passed over",) if self._text else ()
        missing = f"{self._only_in[0][:200]!r}: a diff without -N does not hold it" if self._only_in else ""
        return (*said, missing) if missing else said


def _announced(line: str, lines: Lines) -> None:
    """Check that a section follows its announcement by `diff -r`, Mercurial or Subversion."""
    while (following := lines.peek()) is not None and _BETWEEN.fullmatch(following):
        if following.startswith("diff --git "):
            return
        lines.take()
    if lines.starts(_NO_CONTENT):
        return  # said of that line
    if not (lines.starts("--- ") and lines.starts("+++ ", 1)):
        raise lines.error(f"{line[:80]!r} is followed by no change", "Make the diff with `git diff --binary`.")
    name = line.removeprefix("Index: ")
    named = lines.starts(f"--- {name.strip()}") or lines.starts(f"+++ {name.strip()}", 1)
    if name != line and not named:
        raise lines.error(f"{line[:80]!r} and the names after it differ")
