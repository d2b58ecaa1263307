"""Reverses a diff as text: shows a weakening to a solver, or undoes a bug."""

from itertools import groupby

from selfplay.patches.model import FilePatch, Hunk, PatchError
from selfplay.patches.parse import parse
from selfplay.patches.quoting import name_line, quote


def reverse(text: str) -> str:
    """A diff that undoes `text`: names, modes, hunks and both halves of binary patches are swapped.

    Raises `PatchError` when `text` is malformed, copies a file (its reverse would need the whole content), or contains
    a binary patch with only one half.
    """
    # a file that became a link is "delete, then add"; its reverse must be, too, or git refuses the second half
    sections = (reversed(tuple(group)) for _, group in groupby(parse(text), key=lambda patch: patch.path))
    return "".join(_reverse_file(patch) for group in sections for patch in group)


def _reverse_file(patch: FilePatch) -> str:
    if patch.kind == "copied":
        raise PatchError(f"the copy {patch.path!r} cannot be reversed", "Use `git diff --no-renames`.")
    if len(patch.binary_halves) == 1:
        raise PatchError(f"the binary patch of {patch.path!r} has no backward half", "Use `git diff --binary`.")
    old, new = patch.new_path or patch.path, patch.old_path or patch.path
    lines = [f"diff --git {quote(f'a/{old}')} {quote(f'b/{new}')}", *_header(patch)]
    if patch.hunks:
        lines.append(name_line("---", "a", patch.new_path))
        lines.append(name_line("+++", "b", patch.old_path))
    for hunk in patch.hunks:
        lines += [_hunk_header(hunk), *_reverse_lines(hunk.lines)]
    if patch.binary:
        lines.append("GIT binary patch")
    return "".join(f"{line}\n" for line in lines) + "".join(reversed(patch.binary_halves))


def _header(patch: FilePatch) -> list[str]:
    """The extended header of the reverse, in the order git writes it."""
    turned = [_reverse_field(line) for line in patch.header]
    for first, second in (("old mode", "new mode"), ("rename from", "rename to")):
        at = [index for index, line in enumerate(turned) if line.startswith((first, second))]
        if len(at) == 2:
            turned[at[0]], turned[at[1]] = turned[at[1]], turned[at[0]]
    return turned


def _reverse_field(line: str) -> str:
    swaps = (
        ("old mode", "new mode"),
        ("deleted file mode", "new file mode"),
        ("rename from", "rename to"),
    )
    for first, second in swaps:
        if line.startswith(f"{first} "):
            return second + line[len(first) :]
        if line.startswith(f"{second} "):
            return first + line[len(second) :]
    if line.startswith("index "):
        ids, *mode = line.removeprefix("index ").split(" ")
        old, new = ids.split("..")
        return " ".join(["index", f"{new}..{old}", *mode])
    return line


def _hunk_header(hunk: Hunk) -> str:
    old, new = _range(hunk.new_start, hunk.new_count), _range(hunk.old_start, hunk.old_count)
    return f"@@ -{old} +{new} @@{hunk.section}"


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def _reverse_lines(lines: tuple[str, ...]) -> list[str]:
    """Each run of changes with its signs swapped and its removals first, in git's order.

    A `\\ No newline` line belongs to the line before it and moves with it.
    """
    out: list[str] = []
    removals: list[str] = []
    additions: list[str] = []
    last = out
    for line in lines:
        if line.startswith("+"):
            last, line = removals, "-" + line[1:]
        elif line.startswith("-"):
            last, line = additions, "+" + line[1:]
        elif not line.startswith("\\"):
            out += removals + additions
            removals, additions, last = [], [], out
        last.append(line)
    return out + removals + additions


def deletion(path: str, text: str) -> str:
    """A diff that removes a regular file with this text."""
    lines = [f"-{line}" for line in text.split("\n")]
    cut = lines.pop() != "-"
    head = [f"diff --git {quote(f'a/{path}')} {quote(f'b/{path}')}", "deleted file mode 100644"]
    if cut:
        lines += [f"-{text.rpartition(chr(10))[2]}", "\\ No newline at end of file"]
    count = len(lines) - cut
    hunk = [name_line("---", "a", path), name_line("+++", "b", None), f"@@ -{_range(1, count)} +0,0 @@", *lines]
    return "".join(f"{line}\n" for line in (*head, *(hunk if count else ())))
