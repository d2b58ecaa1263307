"""Collects the original's own code, in which lines repeat: lines that also occur there reveal nothing. Copies of
changed code are excluded, since they do reveal the answer."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from selfplay.oracle.task import Task
from selfplay.plain_text import decode

COPY = 2 / 3
"""A file that holds at least this share of another file's lines is a copy of it."""
RUN = 5
"""Another file is a copy if it holds this many telling lines together that were removed together."""
MOST_FILES, MOST_RUNS = 100, 400
"""Limits: changed files, and runs of lines, that are compared with every file."""
MOST_CODE = 128 << 20
"""Bytes of code that are held, for each world that is searched at a time."""
SHORTEST = 10
"""The shortest telling line, in characters: shorter ones are `else:` and `return x`."""


def code_of(task: Task) -> dict[str, str]:
    """The code of the original, by path; without documents and compiled caches, and of a very large one only a part."""
    found: dict[str, str] = {}
    left = MOST_CODE
    for layer in task.world.tree:
        for file in layer.rglob("*"):
            code = file.suffix not in (".md", ".rst", ".txt", ".html", ".pyc", "") and not file.is_symlink()
            if code and file.is_file() and (size := file.stat().st_size) < 2_000_000 and not _spare(file.name):
                left -= size
                if left < 0:
                    return found
                found[file.relative_to(layer).as_posix()] = decode(file.read_bytes())
    return found


def _spare(name: str) -> bool:
    """Whether this is a backup of another file."""
    return name.endswith((".orig", ".rej", ".bak", "~", ".swp", ".old", ".patch", ".diff")) or name.startswith(
        (".#", "#")
    )


def others_of(
    originals: Mapping[str, str], changed: Collection[str], runs: Collection[Sequence[str]]
) -> dict[str, str]:
    """The files the bug leaves unchanged, except copies of a changed file (in a build folder or an archive) or of one
    of the removed `runs` of lines: otherwise such copies would not be found as leaks."""
    compared = [path for path in sorted(changed) if path in originals][:MOST_FILES]
    files = [set(telling(originals[path].split("\n"))) for path in compared]
    blocks = list(dict.fromkeys(_block(run) for run in runs))[:MOST_RUNS]
    found = {}
    for path, text in originals.items():
        lines = [line.strip() for line in text.split("\n")]
        every = set(lines)
        whole = any(len(every & known) > COPY * len(known) for known in files if known)
        if path not in changed and not whole and not (blocks and _holds(lines, blocks)):
            found[path] = text
    return found


def _holds(lines: Sequence[str], blocks: Iterable[str]) -> bool:
    """Whether the telling lines contain one of the blocks."""
    told = _block(telling(lines))
    return any(block in told for block in blocks)


def _block(lines: Sequence[str]) -> str:
    """The lines joined into one text, so that a run of whole lines can be found in it."""
    return "\n".join(["", *lines, ""])


def telling(lines: Iterable[str]) -> list[str]:
    """The lines that are long enough to tell something, stripped, in order."""
    return [line.strip() for line in lines if len(line.strip()) >= SHORTEST]
