"""Does the solver's world hold a copy of the answer? Every world is searched for the lines the bug removed.

What is searched: the tree, git objects of every store (reachable or not), archives in archives, compressed files,
compiled Python (by comparing functions, not file names), the home and temporary folders, and installed packages. Lines
are also found inside pickles and printed lists, backwards, and by rot13, in files of at most 4 MiB. Files above 64 MiB
are not read, nor more than 1 GiB of packed content. A removed line that also occurs elsewhere in the original's code
reveals nothing in code, unless all lines that the bug removed stand there together; in a document it does. A finding is
a place with at least a third of the telling lines. If there are only one or two telling lines, lines around them must
be there too, since any program may contain a similar line by chance.
"""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

from selfplay import patches
from selfplay.oracle import inside
from selfplay.oracle.world import SolverWorld, Task, open_world
from selfplay.patches.changes import changes
from selfplay.plain import decode
from selfplay.sandbox import WORKDIR, Backend, Limits, SandboxError

SEARCH_SECONDS = 300.0
SHARE = 1 / 3
INSTALLED_SHARE = 2 / 3
"""The share required in installed packages: a copy of the project there is complete, and many packages share idioms
(`return list(self.keys())`)."""
FEW = 3
COPY = 2 / 3
"""A file that holds at least this share of another file's lines is a copy of it."""
RUN = 5
"""This many telling lines, removed together and found together in another file, are a copy."""
MOST_FILES, MOST_LINES, MOST_RUNS = 100, 400, 400
"""How much of a bug is compared with every file of the original: changed files, lines and runs of lines. A normal bug
has a few; one with thousands would cost thousands of times as much."""
SHORTEST, LONGEST = 10, 200
"""Characters of a telling line: the minimum, since shorter lines are `else:` and `return x`; and the maximum, since
longer lines are lists of lines."""


@dataclass(frozen=True)
class Finding:
    """`where`: the path inside, `!` before a member of an archive, `#` before a git object. `share`: the share of the
    removed lines that is there."""

    where: str
    kind: str
    share: float


@dataclass(frozen=True)
class Audit:
    """`lines`: how many lines were searched for; 0 when the bug removed nothing that could be found."""

    lines: int
    findings: tuple[Finding, ...]

    @property
    def clean(self) -> bool:
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        return {"clean": self.clean, **asdict(self)}


def audit_task(backend: Backend, task: Task, limits: Limits = Limits()) -> Audit:
    """Build the world and search it. Raises `WorldError`, `SandboxError`."""
    with open_world(backend, task, limits) as world:
        return audit(world)


def audit(world: SolverWorld) -> Audit:
    """Search an open world. Raises `SandboxError` when the search itself fails."""
    wanted = needles(world.task)
    if not wanted["lines"] and not wanted["python"]:
        return Audit(0, ())
    mounted = [mount.target for mount in world.task.world.mounts]
    roots = [WORKDIR, "/tmp", "/home", *mounted]
    command = ["python3", "-I", "-S", "-c", inside.text("search.py") + inside.text("walk.py"), *roots]
    done = world.sandbox.run(command, timeout=SEARCH_SECONDS, stdin=json.dumps(wanted).encode())
    if done.exit_code != 0 or done.timed_out or done.truncated:
        raise SandboxError(f"the search for leaks failed: {done.stderr.decode('utf-8', 'replace')[-300:]}")
    total = max(1, len(wanted["lines"]))
    found = [
        Finding(where.removeprefix(f"{WORKDIR}/"), kind, round(len(hit) / total, 3) if kind != "compiled" else 1.0)
        for where, kind, hit, around in json.loads(done.stdout)
        if kind == "compiled" or _tells(len(hit), total, around, len(wanted["context"]), _least(where, mounted))
    ]
    most = {finding.where: finding for finding in sorted(found, key=lambda finding: finding.share)}
    return Audit(len(wanted["lines"]), tuple(most[where] for where in sorted(most)))


def _least(where: str, mounted: list[str]) -> float:
    """The share of the removed lines that makes a place a finding."""
    return INSTALLED_SHARE if where.startswith(tuple(f"{root}/" for root in mounted)) else SHARE


def _tells(hits: int, total: int, around: int, context: int, least: float) -> bool:
    """Are so many lines, with so many of the lines around them, a copy rather than a coincidence?"""
    return hits >= math.ceil(least * total) and (hits >= FEW or around >= min(FEW, context))


def needles(task: Task) -> dict[str, Any]:
    """What to search for: the telling lines that the bug removed, those of them that the original's code has elsewhere,
    those that are only part of a line that remains or is elsewhere, the lines around them, and the Python files before
    and after."""
    sections = patches.parse(task.artifact.bug_inject)
    given = [section for diff in task.extra for section in patches.parse(diff)]  # a failed attempt is part of the task
    kept = {line.strip() for section in (*sections, *given) for line in section.added_lines}
    removed = dict.fromkeys(line.strip() for section in sections for line in section.removed_lines)
    lines = [line for line in removed if len(line) >= SHORTEST and line not in kept]
    originals = _texts(task)
    changed = {section.old_path for section in sections if section.old_path}
    runs = [_telling(change.removed) for section in sections for hunk in section.hunks for change in changes(hunk)]
    elsewhere = _elsewhere(originals, changed, [run for run in runs if len(run) >= RUN])
    left = {line for section in sections if section.old_path for line in _left(originals, section)}
    lines = [line for line in lines if line not in left]
    common = [index for index, line in enumerate(lines) if line in elsewhere]
    there = "\n".join(line for line in (*elsewhere, *left, *kept) if len(line) <= LONGEST)
    partly = [index for index, line in enumerate(lines) if index >= MOST_LINES or line in there]
    python = [
        (_stem(section.old_path), originals[section.old_path], "\n".join(_left(originals, section, strip=False)))
        for section in sections
        if section.old_path and section.old_path.endswith(".py") and section.old_path in originals
    ]
    around = {line[1:].strip() for s in sections for hunk in s.hunks for line in hunk.lines if line.startswith(" ")}
    context = sorted(line for line in around if len(line) >= SHORTEST)
    return {"lines": lines, "common": common, "partly": partly, "context": context, "python": python}


def _elsewhere(originals: Mapping[str, str], changed: Collection[str], runs: Collection[Sequence[str]]) -> set[str]:
    """The lines of the files the bug leaves unchanged, without copies of a file it changes (for example a build
    folder's or an archive's) or of one of the `runs` of lines it removes. Such copies would hide themselves from the
    search."""
    compared = [path for path in sorted(changed) if path in originals][:MOST_FILES]
    telling = [set(_telling(originals[path].split("\n"))) for path in compared]
    blocks = list(dict.fromkeys(_block(run) for run in runs))[:MOST_RUNS]
    found: set[str] = set()
    for path, text in originals.items():
        lines = [line.strip() for line in text.split("\n")]
        every = set(lines)
        whole = any(len(every & known) > COPY * len(known) for known in telling if known)
        if path not in changed and not whole and not (blocks and _holds(lines, blocks)):
            found |= every
    return found


def _holds(lines: Sequence[str], blocks: Iterable[str]) -> bool:
    """Do the telling lines among these contain one of the blocks?"""
    told = _block(_telling(lines))
    return any(block in told for block in blocks)


def _block(lines: Sequence[str]) -> str:
    """The lines as one text, each line whole, in which neighbours are adjacent."""
    return "\n".join(["", *lines, ""])


def _telling(lines: Iterable[str]) -> list[str]:
    """The lines that tell something, stripped, in their order."""
    return [line.strip() for line in lines if len(line.strip()) >= SHORTEST]


def _stem(path: str) -> str:
    """The name of this module's compiled file: the module's name, or its package's."""
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem == "__init__" else pure.stem


def _left(originals: Mapping[str, str], section: patches.FilePatch, *, strip: bool = True) -> list[str]:
    """The lines of a changed file as the bug leaves them."""
    if section.old_path is None or section.kind == "deleted":
        return []
    lines, left, at = originals.get(section.old_path, "").split("\n"), list[str](), 0
    for hunk in section.hunks:
        start = hunk.old_start - (hunk.old_count > 0)
        left += lines[at:start]
        left += [line[1:] for line in hunk.lines if line[:1] in (" ", "+", "")]
        at = start + hunk.old_count
    left += lines[at:]
    return [line.strip() for line in left] if strip else left


def _texts(task: Task) -> dict[str, str]:
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
