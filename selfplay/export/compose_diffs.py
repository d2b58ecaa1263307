"""One diff that undoes several, applied one after the other: the repair of a second-order bug.

A file that one of them changes gets its section reversed. A file that several change is computed as text: their result
is compared with the original. Git made all of them from exactly these trees, so a hunk that does not fit at its line
means a damaged bug.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from selfplay import patches
from selfplay.artifact import ArtifactError
from selfplay.artifact.reading import MissingError, read_below
from selfplay.patches import FilePatch
from selfplay.patches.line_diff import hunks
from selfplay.patches.quoting import name_line, quote
from selfplay.plain_text import decode

MOST_BYTES = 8 << 20
NO_END = "\\ No newline at end of file\n"


def undoing(original: Path, diffs: Sequence[str]) -> str:
    """The diff that takes `original` with `diffs` applied back to `original`. Raises `ArtifactError` and
    `PatchError`."""
    if len(diffs) == 1:
        return patches.reverse(diffs[0])
    found: dict[str, list[FilePatch]] = defaultdict(list)
    for diff in diffs:
        for section in patches.parse(diff):
            for path in section.paths:
                found[path].append(section)
    done: set[int] = set()
    made = []
    for path, sections in sorted(found.items()):
        alone = len(sections) == 1 and all(len(found[other]) == 1 for other in sections[0].paths)
        if alone and id(sections[0]) not in done:
            made.append(patches.reverse(sections[0].text))
            done.add(id(sections[0]))
        elif not alone:
            made.append(_back(original, path, sections))
    return "".join(made)


def _back(original: Path, path: str, sections: Sequence[FilePatch]) -> str:
    if any(one.binary or one.symlink or one.kind not in ("modified", "added", "deleted") for one in sections):
        raise ArtifactError(f"its repair cannot be written as one diff: {path!r} is changed twice, and not as text")
    right = _text(original, path)
    wrong = right
    for section in sections:
        wrong = _applied(path, wrong, section)
    if wrong == right:
        return ""
    changed = "".join(_lines(wrong, right))
    names = f"diff --git {quote(f'a/{path}')} {quote(f'b/{path}')}\n"
    mode = "new file mode 100644\n" if wrong is None else "deleted file mode 100644\n" if right is None else ""
    sides = (
        name_line("---", "a", None if wrong is None else path),
        name_line("+++", "b", None if right is None else path),
    )
    return names + mode + ("".join(f"{side}\n" for side in sides) + changed if changed else "")


def _text(original: Path, path: str) -> str | None:
    try:
        return decode(read_below(original, path, MOST_BYTES))
    except MissingError:
        return None


def _applied(path: str, text: str | None, section: FilePatch) -> str | None:
    """The text with the section's hunks, each where it says."""
    if section.kind == "deleted":
        return None
    lines, out, at = _ended(text), list[str](), 0
    for hunk in section.hunks:
        start = hunk.old_start - (hunk.old_count > 0)
        out += lines[at:start]
        old, new = _sides(hunk.lines)
        if lines[start : start + len(old)] != old:
            raise ArtifactError(f"its diffs do not fit together in {path!r}")
        out, at = out + new, start + len(old)
    return "".join(out + lines[at:])


def _sides(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The old and the new lines of a hunk, with their ends."""
    old, new = list[str](), list[str]()
    for place, line in enumerate(lines):
        if line.startswith("\\"):
            continue
        last = place + 1 < len(lines) and lines[place + 1].startswith("\\")
        whole = line[1:] if last else line[1:] + "\n"
        if line[:1] != "+":
            old.append(whole)
        if line[:1] != "-":
            new.append(whole)
    return old, new


def _lines(wrong: str | None, right: str | None) -> list[str]:
    """The hunks from one text to the other."""
    found = hunks(_ended(wrong), _ended(right))
    return [line if line.endswith("\n") else f"{line}\n{NO_END}" for line in found]


def _ended(text: str | None) -> list[str]:
    """The lines of a text with their ends; only a line feed ends one."""
    *whole, rest = (text or "").split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])
