"""A strict reader for the output of `git diff --binary`: it rejects everything it does not understand.

`git apply` skips text between sections, so a lenient reader and `git apply` could see two different patches in one
file; this reader raises `PatchError` for every line it cannot place. `unidiff` is not used here: measured with 1.0.1,
it drops the content of binary patches, leaves quoted names quoted, skips garbage, and does not print back what it read.
"""

import re
from functools import lru_cache

from selfplay.patches.lines import Lines
from selfplay.patches.model import FilePatch, Hunk, Kind, PatchError
from selfplay.patches.quoting import pairs, unquote
from selfplay.plain_text import MAX_PATH, safe_relative

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@( .*)?", re.DOTALL)
INDEX = re.compile(r"index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: (\d{6}))?")
ANY_INDEX = re.compile(r"index \S(?:(?!\.\.\S)\S)*+\.\.\S+(?: \d{6})?")
_PERCENT = re.compile(r"(?:dis)?similarity index \d{1,3}%")
_BINARY_HALF = re.compile(r"(?:literal|delta) \d{1,12}")
_BASE85 = re.compile(r"[A-Za-z][0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]+")
_FIELDS = (
    "old mode",
    "new mode",
    "deleted file mode",
    "new file mode",
    "copy from",
    "copy to",
    "rename from",
    "rename to",
)
_MODES = ("100644", "100755", "120000")


REMEMBERED = 1 << 20
"""Characters: larger diffs are not cached after parsing, because they would use much memory."""


def parse(text: str) -> tuple[FilePatch, ...]:
    """The file sections of a diff, in order; an empty text has none.

    Raises `PatchError` for anything malformed, for paths that are absolute, leave the tree or enter `.git`, for
    submodules, for binary changes without content, and if two sections read, or two sections write, the same path.
    """
    return _remembered(text) if len(text) <= REMEMBERED else _parsed(text)


def _parsed(text: str) -> tuple[FilePatch, ...]:
    lines, patches = Lines(text), []
    while lines.peek() is not None:
        patches.append(_file(lines))
    for side in ("old_path", "new_path"):
        seen: set[str] = set()
        for patch in patches:
            path = getattr(patch, side)
            if path in seen:
                raise PatchError(f"the diff has two sections for {path!r}", "Make it with one `git diff`.")
            if path is not None and not (side == "old_path" and patch.kind == "copied"):
                seen.add(path)
    return tuple(patches)


_remembered = lru_cache(maxsize=8)(_parsed)  # a bug's few diffs are read again and again


def _file(lines: Lines) -> FilePatch:
    start = lines.at
    first = lines.take()
    if not first.startswith("diff --git "):
        raise lines.foreign(first, "Sections start with 'diff --git a/... b/...'.")
    header, fields = extended_header(lines)
    names = _names(lines) if lines.starts("--- ") else None
    old, new = _paths(lines, first, fields, names)
    hunks, halves = content(lines, has_names=names is not None)
    old_mode, new_mode = _modes(lines, fields)
    added, deleted = "new file mode" in fields, "deleted file mode" in fields
    kind = _kind(fields, changes_content=bool(hunks or halves))
    if (added and any(hunk.old_count for hunk in hunks)) or (deleted and any(hunk.new_count for hunk in hunks)):
        raise lines.error(f"the section of the {kind} file {new!r} has lines of the side that does not exist")
    if kind == "modified" and not (hunks or halves):
        raise lines.error(f"the section of {new!r} changes nothing")
    return FilePatch(
        old_path=None if added else old,
        new_path=None if deleted else new,
        kind=kind,
        old_mode=old_mode,
        new_mode=new_mode,
        header=header,
        hunks=hunks,
        binary_halves=halves,
        text=lines.text(start),
    )


def extended_header(lines: Lines) -> tuple[tuple[str, ...], dict[str, str]]:
    """The extended header: its lines as written, and field -> value (`index` holds the mode, if any)."""
    start, fields = lines.at, dict[str, str]()
    while (line := lines.peek()) is not None:
        index = INDEX.fullmatch(line)
        name = next((name for name in _FIELDS if line.startswith(f"{name} ")), None)
        if index:
            name, value = "index", index[1] or ""
        elif _PERCENT.fullmatch(line):
            name, value = "percent", line
        elif name:
            value = line[len(name) + 1 :]
        else:
            break
        lines.take()
        if name in fields:
            raise lines.error(f"a second {name!r} line in one section")
        fields[name] = value
    return tuple(lines.lines[start : lines.at]), fields


def _names(lines: Lines) -> tuple[str, str]:
    """The unquoted `---` and `+++` names: `a/...`, `b/...` or `/dev/null`."""
    names = []
    for marker in ("--- ", "+++ "):
        if not lines.starts(marker):
            raise lines.error(f"no {marker.strip()!r} line where one is due")
        names.append(unquote(lines.take()[4:].removesuffix("\t")))  # git ends names that hold a space with a tab
    return names[0], names[1]


def _paths(lines: Lines, first: str, fields: dict[str, str], names: tuple[str, str] | None) -> tuple[str, str]:
    """Old and new path, after checking that all lines that name them agree."""
    moved = [
        (unquote(fields.get(f"{verb} from", "")), unquote(fields.get(f"{verb} to", ""))) for verb in _verbs(fields)
    ]
    named = pairs(first[len("diff --git ") :], f"a/{moved[0][0]}" if moved else None)
    choices = [(old[2:], new[2:]) for old, new in named if _prefixed(old, new)]
    found = [pair for pair in choices if pair in moved] if moved else [pair for pair in choices if pair[0] == pair[1]]
    if len(found) != 1:
        hint = "The old name starts with a/, the new one with b/; `git diff -R` and `--no-prefix` write others."
        raise lines.error(f"{first[:200]!r} does not say which file it is about", hint)
    old, new = found[0]
    expected = (
        "/dev/null" if "new file mode" in fields else f"a/{old}",
        "/dev/null" if "deleted file mode" in fields else f"b/{new}",
    )
    if names is not None and names != expected:
        raise lines.error(f"the names {names[0][:200]!r} and {names[1][:200]!r} do not fit {first[:200]!r}")
    for path in (old, new):
        if safe_relative(path) is None:
            hint = f"Paths are plain, inside the repository, not in .git, and at most {MAX_PATH} characters long."
            raise lines.error(f"it touches {path[:200]!r}", hint)
    return old, new


def _prefixed(old: str, new: str) -> bool:
    return old.startswith("a/") and new.startswith("b/")


def _verbs(fields: dict[str, str]) -> tuple[str, ...]:
    return tuple(verb for verb in ("rename", "copy") if f"{verb} from" in fields or f"{verb} to" in fields)


def _modes(lines: Lines, fields: dict[str, str]) -> tuple[str | None, str | None]:
    both = fields.get("index") or None
    old = fields.get("deleted file mode", fields.get("old mode", both))
    new = fields.get("new file mode", fields.get("new mode", both))
    if ("old mode" in fields) != ("new mode" in fields) or len(fields.keys() & {"old mode", *_FIELDS[2:4]}) > 1:
        raise lines.error("its mode lines contradict each other")
    for mode in {old, new} - {None, *_MODES}:
        what = "a submodule" if mode == "160000" else f"the mode {mode!r}"
        raise lines.error(f"it changes {what}", "Only regular files and symbolic links can be patched.")
    return (None if "new file mode" in fields else old), (None if "deleted file mode" in fields else new)


def _kind(fields: dict[str, str], *, changes_content: bool) -> Kind:
    kinds: tuple[tuple[str, Kind], ...] = (
        ("new file mode", "added"),
        ("deleted file mode", "deleted"),
        ("rename from", "renamed"),
        ("copy from", "copied"),
    )
    found = [kind for field, kind in kinds if field in fields]
    if len(found) > 1:
        raise PatchError(f"one section is both {found[0]} and {found[1]}")
    if found:
        return found[0]
    return "mode" if "old mode" in fields and not changes_content else "modified"


def content(lines: Lines, *, has_names: bool) -> tuple[tuple[Hunk, ...], tuple[str, ...]]:
    if lines.starts("Binary files ") or lines.starts("Files "):
        raise lines.error("it names a binary file without its content", "Make the diff with `git diff --binary`.")
    if lines.peek() == "GIT binary patch" and not has_names:
        lines.take()
        halves = [_binary_half(lines)]
        if (line := lines.peek()) is not None and _BINARY_HALF.fullmatch(line):
            halves.append(_binary_half(lines))
        return (), tuple(halves)
    hunks = []
    while has_names and lines.starts("@@ "):
        hunks.append(_hunk(lines))
    if has_names and not hunks:
        raise lines.error("a section with names but without a hunk")
    return tuple(hunks), ()


def _binary_half(lines: Lines) -> str:
    """One `literal` or `delta` block with the blank line that ends it."""
    start = lines.at
    if lines.peek() is None or not _BINARY_HALF.fullmatch(lines.take()):
        raise lines.error("a binary patch without 'literal' or 'delta'")
    while (line := lines.peek()) and _BASE85.fullmatch(line):
        lines.take()
    if lines.at == start + 1 or lines.peek() != "":
        raise lines.error("a binary patch that is cut off or not base 85")
    lines.take()
    return lines.text(start)


def _hunk(lines: Lines) -> Hunk:
    head = _HUNK.fullmatch(lines.take())
    if head is None:
        raise lines.error("a malformed hunk header")
    old_start, new_start = int(head[1]), int(head[3])
    old_count, new_count = (int(count) if count else 1 for count in (head[2], head[4]))
    old, new, body = old_count, new_count, list[str]()
    text, at = lines.lines, lines.at
    while at < len(text):  # most of the parsing time
        line = text[at]
        sign = line[:1]
        if old <= 0 and new <= 0 and not line.startswith("\\ "):
            break
        if sign not in ("", " ", "-", "+") and not line.startswith("\\ "):
            break
        body.append(line)
        at += 1
        old -= sign in ("", " ", "-")  # git reads an empty line as an empty context line
        new -= sign in ("", " ", "+")
    lines.at = at
    if old > 0 or new > 0:
        raise lines.error("a hunk is shorter than its header says")
    if old or new or all(line[:1] in ("", " ", "\\") for line in body):
        raise lines.error("a hunk does not match its header")
    return Hunk(old_start, old_count, new_start, new_count, head[5] or "", tuple(body))
