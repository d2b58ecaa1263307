"""Reads files out of one run's sandbox within one budget, because the host's memory holds them. The original's test
files, which are untrusted, have such a budget too (`oracle/originals.py`)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from selfplay.plain_text import decode
from selfplay.sandbox import MIB, WORKDIR, InsideError, Sandbox
from selfplay.sandbox.kill_detection import believed_here

MOST_BYTES, MOST_FILES = 64 * MIB, 5_000
"""Limits for all files read out of one run's sandbox."""
WHOLE = f"{MOST_BYTES // MIB} MiB in {MOST_FILES:,} files"
MOST_COMPILED = 8 * MIB
MOST_ADDED = 2 * MIB
"""What a diff may add to the files that are read for it, all together: packed, a few megabytes of it make a thousand
times as many, and to judge one megabyte of source takes some 16 s."""
ASK_SECONDS = 60.0
_ASK = """
import sys
try:
    from _pytest import __version__ as pytest
except ImportError:
    pytest = "-"
print("\\ncompiled:", sys.implementation.cache_tag, pytest)
"""
_ANSWER = re.compile(rb"^compiled: ([a-z]{2,12}[a-z0-9-]{1,20}) (?:-|([0-9][0-9A-Za-z.+]{0,40}))$", re.MULTILINE)


class ReadTooMuch(InsideError):
    """A run left more data than may be read out of its sandbox."""


@dataclass
class ReadBudget:
    """What may still be read out of one run's sandbox, or of one original."""

    size: int = MOST_BYTES
    files: int = MOST_FILES
    whole: str = WHOLE

    def left_for_changed(self) -> "ReadBudget":
        """A budget for what a diff makes of the files that were read."""
        most = MOST_BYTES - self.size + MOST_ADDED
        return ReadBudget(most, whole=f"{most // MIB} MiB")

    def take(self, size: int) -> bool:
        """Count one more file; returns whether it is within the budget."""
        self.size, self.files = self.size - size, self.files - 1
        return self.size >= 0 and self.files >= 0

    def read(self, sandbox: Sandbox, path: str, most: int = 16 * MIB) -> bytes | None:
        """The content of a file of at most `most` bytes; None if it is missing, unreadable or larger. Raises
        `ReadTooMuch`, and `SandboxError` when the sandbox is gone."""
        try:
            data = sandbox.read_file(path, most)
        except (FileNotFoundError, InsideError):
            return None
        if not self.take(len(data)):
            raise ReadTooMuch(f"it left more than may be read out of a sandbox, {self.whole}")
        return data


def texts_in(sandbox: Sandbox, paths: Iterable[str], budget: ReadBudget) -> dict[str, str | None]:
    """The texts of files of the tree; None for one that is missing or unreadable. Raises `ReadTooMuch`, and
    `SandboxError` when the sandbox is gone."""
    read = {path: budget.read(sandbox, f"{WORKDIR}/{path}") for path in paths}
    return {path: None if data is None else decode(data) for path, data in read.items()}


def read_compiled(sandbox: Sandbox, paths: Sequence[str], budget: ReadBudget) -> dict[str, bytes]:
    """The content of the compiled forms of the Python files among `paths`, without those that are too large. Raises
    `SandboxError`."""
    python = [path for path in paths if path.endswith(".py")]
    tags = _tags(sandbox) if python else ()
    found = {form: budget.read(sandbox, f"{WORKDIR}/{form}", MOST_COMPILED) for form in _forms(python, tags)}
    return {form: data for form, data in found.items() if data is not None}


def _tags(sandbox: Sandbox) -> tuple[str, ...]:
    """The tags between a module's name and `.pyc`, for its interpreter and its pytest; empty in a world without
    Python."""
    said = next(filter(None, (_said(sandbox, python) for python in ("python", "python3"))), None)
    if said is None:
        return ()
    tag = said[1].decode()
    return (tag, f"{tag}.opt-1", f"{tag}.opt-2", *([f"{tag}-pytest-{said[2].decode()}"] if said[2] else []))


def _said(sandbox: Sandbox, python: str) -> re.Match[bytes] | None:
    """Ask with the world's variables, which may say where pytest is, but outside its tree."""
    done = believed_here(sandbox, lambda: sandbox.run([python, "-c", _ASK], timeout=ASK_SECONDS, cwd="/"))
    return _ANSWER.search(done.stdout) if done.exit_code == 0 else None


def _forms(paths: Sequence[str], tags: Sequence[str]) -> Iterator[str]:
    for path in paths:
        folder, _, name = path.rpartition("/")
        for tag in tags:
            yield f"{folder}/__pycache__/{name[:-3]}.{tag}.pyc".removeprefix("/")
