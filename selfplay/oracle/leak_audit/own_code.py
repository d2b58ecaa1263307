"""The original's own code, which repeats itself: what stands in it reveals nothing. Copies of what a bug changes do."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from selfplay.oracle.world import Task
from selfplay.plain_text import decode

COPY = 2 / 3
"""A file that holds at least this share of another file's lines is a copy of it."""
RUN = 5
"""This many telling lines, removed together and found together in another file, are a copy."""
MOST_FILES, MOST_RUNS = 100, 400
"""How many changed files, and runs of lines, are compared with every file."""
SHORTEST = 10
"""Characters of a telling line: shorter ones are `else:` and `return x`."""


def code_of(task: Task) -> dict[str, str]:
    """The code of the original, by path; documents and compiled caches aside."""
    found = {}
    for layer in task.world.tree:
        for file in layer.rglob("*"):
            code = file.suffix not in (".md", ".rst", ".txt", ".html", ".pyc", "") and not file.is_symlink()
            if code and file.is_file() and file.stat().st_size < 2_000_000 and not _spare(file.name):
                found[file.relative_to(layer).as_posix()] = decode(file.read_bytes())
    return found


def _spare(name: str) -> bool:
    """Whether this is a backup of another file, not code of its own."""
    return name.endswith((".orig", ".rej", ".bak", "~", ".swp", ".old", ".patch", ".diff")) or name.startswith(
        (".#", "#")
    )


def others_of(
    originals: Mapping[str, str], changed: Collection[str], runs: Collection[Sequence[str]]
) -> dict[str, str]:
    """The files the bug leaves unchanged, without copies of a file it changes (for example a build folder's or an
    archive's) or of one of the `runs` of lines it removes. Such copies would hide themselves from the search."""
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
    """Do the telling lines among these contain one of the blocks?"""
    told = _block(telling(lines))
    return any(block in told for block in blocks)


def _block(lines: Sequence[str]) -> str:
    """The lines as one text, each line whole, in which neighbours are adjacent."""
    return "\n".join(["", *lines, ""])


def telling(lines: Iterable[str]) -> list[str]:
    """The lines that tell something, stripped, in their order."""
    return [line.strip() for line in lines if len(line.strip()) >= SHORTEST]
