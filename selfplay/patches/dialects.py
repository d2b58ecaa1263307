"""Reads diffs as other programs and settings write them, and converts them to the form of `git diff`.

`git apply` and `patch -p1` accept more than `git diff` writes by default: other prefixes, plain `---`/`+++` headers,
mails, logs. What they read unambiguously is accepted here and rewritten as `git diff` would write it; what is
ambiguous is refused. Nothing is repaired: a hunk that does not match its header was cut off or made up, and its
meaning is unknown (`git apply --recount` would guess).
"""

from collections.abc import Callable
from dataclasses import dataclass

from selfplay.patches.levels import common_level
from selfplay.patches.lines import Lines, no_part
from selfplay.patches.model import FilePatch, PatchError
from selfplay.patches.outside import Outside
from selfplay.patches.parse import ANY_INDEX, INDEX, content, extended_header, parse
from selfplay.patches.quoting import name_line, quote
from selfplay.patches.sides import Sides, git_sides, plain_sides, stripped


@dataclass(frozen=True)
class Dialect:
    """A diff in our form: its text, its sections, and notes on what was changed."""

    text: str
    sections: tuple[FilePatch, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """One section as written: its names, its extended header (None without a `diff --git` line), and its hunks or
    binary content as text."""

    sides: Sides
    header: tuple[str, ...] | None
    body: str


def read(text: str, there: Callable[[str], bool] | None = None) -> Dialect:
    """Read a diff. `there`: tells whether a path is a file or folder of the tree; only with it can names be read that
    may or may not have a prefix. Raises `PatchError` for a diff that is malformed or ambiguous."""
    try:
        return Dialect(text, parse(text))
    except PatchError:
        pass  # another form, or not a diff
    lines, outside, found = Lines(text), Outside(), list[Section]()
    while lines.peek() is not None:
        if lines.starts("diff --git "):
            found.append(_git_section(lines))
        elif lines.starts("--- ") and lines.starts("+++ ", 1):
            found.append(_plain_section(lines))
        else:
            outside.pass_over(lines, len(found))
    outside.check(len(found))
    if not found:
        raise PatchError(no_part(" ".join(text.strip()[:80].split())), "Hand in what `git diff --binary` prints.")
    level = common_level([section.sides for section in found], there)
    made = "".join(_written(section, level, there) for section in found)
    return Dialect(made, parse(made), (*outside.notes(), *_notes(found, level)))


def _git_section(lines: Lines) -> Section:
    command = lines.take().removeprefix("diff --git ")
    header, fields = list[str](), dict[str, str]()
    while True:
        kept, values = extended_header(lines)
        header += kept
        fields |= values
        following = lines.peek() or ""
        if not ANY_INDEX.fullmatch(following) or INDEX.fullmatch(following):
            break
        lines.take()  # ids are dropped: they may be invented, and text diffs need none
    listed = lines.starts("--- ") and lines.starts("+++ ", 1)
    tokens = (lines.take()[4:], lines.take()[4:]) if listed else None
    body = lines.at
    content(lines, has_names=listed)
    return Section(git_sides(lines, command, tokens, fields), tuple(header), lines.text(body))


def _plain_section(lines: Lines) -> Section:
    old, new = lines.take()[4:], lines.take()[4:]
    body = lines.at
    hunks, _ = content(lines, has_names=True)
    sides = plain_sides(old, new, grows=len(hunks) == 1 and not hunks[0].old_count)
    if sides.no_old and sides.no_new:
        raise lines.error("a section for a file that exists on neither side")
    return Section(sides, None, lines.text(body))


def _written(section: Section, level: int, there: Callable[[str], bool] | None) -> str:
    """The section as `git diff` would write it."""
    sides, header = section.sides, section.header
    old, new = (stripped(name, level) for name in sides.both)
    assert old and new  # the chosen level ensures it
    no_old, no_new = sides.no_old, sides.no_new
    if header is None:
        if sides.grows and not no_old:
            if there is None:
                raise PatchError(f"{new[:200]!r} may be new, or empty so far", "`git diff` says which.")
            no_old = not there(old)
        header = ("new file mode 100644",) if no_old else ("deleted file mode 100644",) if no_new else ()
    lines = [f"diff --git {quote(f'a/{old}')} {quote(f'b/{new}')}", *header]
    if sides.listed:
        lines += [name_line("---", "a", None if no_old else old), name_line("+++", "b", None if no_new else new)]
    return "".join(f"{line}\n" for line in lines) + section.body


def _notes(sections: list[Section], level: int) -> list[str]:
    notes = []
    if any(section.header is None for section in sections):
        notes.append("sections without a `diff --git` line were given one")
    folders = [name and name.partition("/")[0] for name in (sections[0].sides.old, sections[0].sides.new)]
    if not level:
        notes.append("names without prefixes were given a/ and b/")
    elif any(folder not in (None, letter) for folder, letter in zip(folders, "ab", strict=True)):
        notes.append(f"the prefixes {' and '.join(folder[:80] for folder in folders if folder)} were read as a and b")
    return notes
