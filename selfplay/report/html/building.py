"""Builds the page of a run as one file: plain rows and figures, and compressed details of bugs and episodes, within a
size limit."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from selfplay.curriculum import Curriculum
from selfplay.errors import SelfplayError
from selfplay.formatting import Say
from selfplay.report.html.bugs import bug_detail
from selfplay.report.html.document import document, packed, script_json
from selfplay.report.html.reading import Contents, read_contents

TOGETHER = 16
"""How many bugs are packed together: bugs of one repository share much, and a browser unpacks few at a time."""
MARGIN = 200_000
"""Bytes of the page without its data."""


def build(pool: Curriculum, most: int, say: Say = lambda line: None) -> str:
    """The page, at most `most` bytes long if its rows take less. Details of bugs and then episodes are added while
    there is room. Omitted and unreadable ones are counted."""
    contents = read_contents(pool)
    chunks: dict[str, str] = {}
    room = most - MARGIN - len(script_json(contents.index).encode())
    room -= _add_bugs(contents, chunks, room, say)
    _add_episodes(contents, chunks, room, say)
    return document(contents.index, chunks)


def _add_bugs(contents: Contents, chunks: dict[str, str], room: int, say: Say) -> int:
    """Put details of bugs into `chunks` and their place into each row; drop rows of unreadable bugs."""
    rows, index, taken = iter(contents.index["bugs"]), contents.index, 0
    kept: list[dict[str, Any]] = []
    texts: dict[str, str] = {}
    full = False
    while some := list(islice(rows, TOGETHER)):
        details = {row["id"]: detail for row in some if (detail := _detail(contents, row["id"])) is not None}
        whole = [row for row in some if row["id"] in details]
        new = _shared(details.values(), texts)
        name = f"b{len(chunks)}"
        new[name] = packed(details)
        size = sum(map(len, new.values()))
        full = full or taken + size > room
        if not full:
            chunks.update(new)
            taken += size
            for row in whole:
                row["at"] = name
        kept += whole
        say(f"bugs: {len(kept)} of {len(index['bugs'])}")
    index["bugs"] = kept
    index["without_details"] = sum("at" not in row for row in kept)
    return taken


def _shared(details: Iterable[dict[str, Any]], texts: dict[str, str]) -> dict[str, str]:
    """Put scripts into separate chunks, once for all bugs with the same script (`texts`). Returns the new chunks."""
    new = {}
    for detail in details:
        for name, text in detail.pop("texts").items():
            if text not in texts:
                texts[text] = f"t{len(texts)}"
                new[texts[text]] = packed(text)
            detail.setdefault("shared", {})[name] = texts[text]
    return new


def _detail(contents: Contents, bug: str) -> dict[str, Any] | None:
    try:
        return bug_detail(contents.pool, contents.bugs[bug], contents.attempts.get(bug, []))
    except SelfplayError as error:
        contents.leave_out(f"bugs/{bug}", error)
        return None


def _add_episodes(contents: Contents, chunks: dict[str, str], room: int, say: Say) -> None:
    """Put episodes into `chunks` until one does not fit. Each row gets its place, empty if it is omitted."""
    full, contents.index["without_tape"] = False, 0
    for row in contents.index["episodes"]:
        row.append("")
    for number, row in enumerate(_in_turn(contents.index["episodes"])):
        if full:
            break
        if not contents.has_tape(row[0]):
            contents.index["without_tape"] += 1
            continue
        try:
            data = packed(contents.episode(row[0]))
        except SelfplayError as error:
            contents.leave_out(f"trajectories/{row[0]}", error)
            continue
        full = len(data) > room
        if not full:
            row[-1] = f"e{number}"
            chunks[row[-1]], room = data, room - len(data)
            say(f"episodes: {number + 1}")
    without = sum(not row[-1] for row in contents.index["episodes"])
    contents.index["without_episode"] = without - contents.index["without_tape"]


def _in_turn(rows: list[list[Any]]) -> Iterator[list[Any]]:
    """The rows so that no bug's second episode comes before another's first; those that made a bug come first."""
    seen: dict[tuple[str, str], int] = {}
    ranked = []
    for at, row in enumerate(rows):
        key = (row[1], row[2])
        rank = seen[key] = seen.get(key, 0) + 1
        ranked.append((rank, row[1] != "injector", not row[2], at))
    return (rows[at] for *_, at in sorted(ranked))
