"""Applies a section of a diff to a text if every hunk fits exactly: for inspecting a bug, not for making one."""

from selfplay.patches.model import FilePatch, Hunk, PatchError


def applied(text: str, section: FilePatch) -> str:
    """The new text. Raises `PatchError` if a hunk does not match at its line, or the section is binary."""
    if section.binary:
        raise PatchError(f"{section.path!r} is binary", "Only text can be looked at.")
    lines = text.split("\n")
    for hunk in reversed(section.hunks):
        start = hunk.old_start - 1 if hunk.old_count else hunk.old_start
        old, new = _side(hunk, "-"), _side(hunk, "+")
        if lines[start : start + len(old)] != old:
            raise PatchError(f"a hunk of {section.path!r} is not at line {hunk.old_start}", "Make the diff again.")
        lines[start : start + len(old)] = new
    return "\n".join(lines)


def _side(hunk: Hunk, sign: str) -> list[str]:
    return [line[1:] for line in hunk.lines if line[:1] in (" ", sign)]
