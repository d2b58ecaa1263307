"""The two names of one section, in the form that any diff program writes."""

import re
from dataclasses import dataclass
from datetime import datetime

from selfplay.patches.lines import Lines
from selfplay.patches.quoting import QUOTED, unquote

NOWHERE = "/dev/null"
_BLANK_STAMP = re.compile(r" \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?(?: [+-]\d{4})?$")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.0{1,9})? ([+-]\d{4})")
_NOT_THERE = ("(nonexistent)", "(revision 0)")


@dataclass(frozen=True)
class Sides:
    """The names of a section with their prefixes, if they have any.

    `old` and `new`: None if the section gives no name for that side. `no_old`, `no_new`: the side does not exist.
    `moved`: both names without prefixes, from the lines of a rename or copy. `listed`: it has `---` and `+++` lines.
    `grows`: its only hunk removes nothing, so that the old side may be missing."""

    old: str | None
    new: str | None
    no_old: bool = False
    no_new: bool = False
    moved: tuple[str, str] | None = None
    listed: bool = True
    grows: bool = False

    @property
    def both(self) -> tuple[str, str]:
        """The names; a side without one gets the other's."""
        one = self.old or self.new or ""
        return self.old or one, self.new or one


def plain_sides(old: str, new: str, *, grows: bool) -> Sides:
    """The sides from the texts after `---` and `+++`, for a section without `diff --git`. Raises `PatchError`."""
    (first, no_old), (second, no_new) = _plain(old), _plain(new)
    one, other = (None if name == NOWHERE else name for name in (first, second))
    return Sides(one, other, no_old, no_new, grows=grows)


def _plain(text: str) -> tuple[str, bool]:
    """(name, whether the file is said not to exist): the name ends at a tab, or before a time."""
    found = None if "\t" in text else _BLANK_STAMP.search(text)
    if quoted := QUOTED.match(text):
        cut = quoted.end()
    else:
        cut = text.find("\t") if "\t" in text else found.start() if found else len(text)
    name, stamp = unquote(text[:cut].rstrip(" ") if found else text[:cut]), text[cut:].strip()
    return name, name == NOWHERE or _is_nowhere(stamp)


def _is_nowhere(stamp: str) -> bool:
    """Whether the time beside a name means that there is no such file: GNU diff writes the epoch."""
    found = _STAMP.fullmatch(stamp)
    if found is None:
        return stamp in _NOT_THERE
    try:
        return datetime.strptime(f"{found[1]} {found[2]}", "%Y-%m-%d %H:%M:%S %z").timestamp() == 0
    except ValueError:  # not a date
        return False


def git_sides(lines: Lines, command: str, tokens: tuple[str, str] | None, fields: dict[str, str]) -> Sides:
    """The sides of a section with a `diff --git` line. `command`: the names in that line; `tokens`: the texts after
    `---` and `+++`. Raises `PatchError` if they disagree or are ambiguous."""
    given = [token.removesuffix("\t") for token in tokens or ()]
    old, new = ("" if name == NOWHERE else name for name in given or ("", ""))
    moved = _moved(fields)
    found = {
        pair
        for pair in _readings(command, old, new, moved)
        if all(not name or unquote(name) == wanted for name, wanted in zip((old, new), pair, strict=True))
        and strips(*pair, moved)
    }
    if len(found) != 1:
        raise lines.error(f"{f'diff --git {command}'[:200]!r} does not say which file it is about, or its names differ")
    ((first, second),) = found
    return Sides(first, second, NOWHERE in given[:1], NOWHERE in given[1:], moved, bool(given))


def _moved(fields: dict[str, str]) -> tuple[str, str] | None:
    for verb in ("rename", "copy"):
        if f"{verb} from" in fields and f"{verb} to" in fields:
            return unquote(fields[f"{verb} from"]), unquote(fields[f"{verb} to"])
    return None


def _readings(command: str, old: str, new: str, moved: tuple[str, str] | None) -> list[tuple[str, str]]:
    """The pairs of names that the line may contain: unquoted names may contain blanks. `old`, `new`: the names given
    elsewhere, else empty."""
    if quoted := QUOTED.match(command):
        cuts = {quoted.end()}
    else:
        cuts = {len(command) // 2, command.find(' "')}
        if old:
            cuts.add(len(old))
        if new:
            cuts.add(len(command) - len(new) - 1)
        if moved:
            cuts.add(len(moved[0]) + (len(command) - len(moved[0]) - len(moved[1]) - 1) // 2)
    cuts = {cut for cut in cuts if 0 < cut < len(command) and command[cut] == " "}
    return [(unquote(command[:cut]), unquote(command[cut + 1 :])) for cut in sorted(cuts)]


def strips(old: str | None, new: str | None, moved: tuple[str, str] | None = None) -> frozenset[int]:
    """How many folders may be prefixes: 0, 1 or both. Empty if the names fit neither."""
    found = []
    for level in (0, 1):
        first, second = (None if name is None else stripped(name, level) for name in (old, new))
        if (old is not None and first is None) or (new is not None and second is None):
            continue
        if (moved is not None and (first, second) == moved) or (
            moved is None and (first == second or old is None or new is None)
        ):
            found.append(level)
    return frozenset(found)


def stripped(name: str, level: int) -> str | None:
    """The name without its first `level` folders; None if it has fewer. An absolute name has no folders to remove."""
    if not level:
        return name
    folder, slash, rest = name.partition("/")
    return rest if slash and folder and rest else None
