"""Tool calls that all scripted roles use: small scripts that yield calls and return what they learn."""

import base64
import shlex
from typing import TypeVar

from selfplay.agent.actions import Call, Observation
from selfplay.patches.lines import split_lines
from selfplay.plain_text import encode
from selfplay.scripted.edits.cuts import Cut, PlantedChange, line_end
from selfplay.scripted.policy import Script, Stuck
from selfplay.untrusted_json import MOST_VALUES, answer, inflated

PAGE = 120_000
"""Characters read at once: fewer than the cap of one observation."""
MOST_EDITS = 6
"""How many places of one file are edited one by one; with more the whole file is written."""
MAX_UNPACKED = 64 * 1024 * 1024
SHOWN = 200
T = TypeVar("T")


def bash(command: str, timeout: float = 120.0) -> Script[Observation]:
    return (yield Call("bash", {"command": command, "timeout": timeout}))


def printed(command: str) -> Script[str | None]:
    """What a command prints, without its errors; None when it fails or prints more than one page."""
    done = yield from bash(f"({command}) 2>/dev/null")
    return done.output if done.ok and len(done.output) < PAGE else None


def create(path: str, content: str) -> Script[None]:
    done = yield Call("create", {"path": path, "content": content})
    if not done.ok:
        raise Stuck(done.output)


def read(path: str) -> Script[str]:
    """A whole file, page by page."""
    parts: list[str] = []
    while not parts or len(parts[-1].encode("utf-8", "surrogateescape")) == PAGE:
        place = shlex.quote(path)
        page = yield from bash(f"tail -c +{len(parts) * PAGE + 1} {place} | head -c {PAGE}")
        if not page.ok or len(parts) * PAGE > 64_000_000:
            raise Stuck(f"cannot read {path}: {page.output[:200]}")
        parts.append(page.output)
    return "".join(parts)


def packed(command: str) -> Script[str]:
    """The complete standard output of a command, of any length: packed inside, read page by page."""
    done = yield from bash(f"set -o pipefail; ( {command} ) | gzip -6 | base64 -w0 > /tmp/packed")
    if not done.ok:
        raise Stuck(done.output[-2000:])
    return unpack((yield from read("/tmp/packed")))


def unpack(packed: str) -> str:
    """The text behind gzip and base64, refused beyond `MAX_UNPACKED` bytes: the repository's processes wrote it. Raises
    `Stuck`."""
    try:
        return inflated(base64.b64decode(packed), MAX_UNPACKED, gzip=True).decode("utf-8")
    except ValueError as error:
        raise Stuck(f"what came back cannot be read: {str(error)[:SHOWN]}") from error


def told(kind: type[T], text: str, values: int = MOST_VALUES) -> T:
    """The value of that type behind JSON that a process of the repository wrote. Raises `Stuck`."""
    try:
        return answer(kind, encode(text), most=MAX_UNPACKED, values=values)
    except ValueError as error:
        raise Stuck(f"the report cannot be read: {error}") from error


def make_change(change: PlantedChange) -> Script[None]:
    """Make `change` in the repository: one edit per cut if its old text is unique, else the whole file."""
    if change.after is None:
        yield from bash(f"rm -- {shlex.quote(change.path)}")
        return
    if len(change.cuts) <= MOST_EDITS and all(_unmistakable(change, cut) for cut in change.cuts):
        lines = split_lines(change.before)
        for cut in change.cuts:
            old = "".join(lines[cut.start - 1 : cut.end])
            new = "".join(cut.ended(line_end(change.before)))
            done = yield Call("edit", {"path": change.path, "old": old, "new": new})
            if not done.ok:
                break
        else:
            return
    yield from create(change.path, change.after)


def _unmistakable(change: PlantedChange, cut: Cut) -> bool:
    old = "".join(split_lines(change.before)[cut.start - 1 : cut.end])
    return bool(old.strip()) and change.before.count(old) == 1
