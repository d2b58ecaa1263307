"""What the kernel tells of this machine in text: the files of `/proc` and `/sys`.

Names that stand there (of processes, mounts, control groups) are other users' choice: they hold any bytes but those
that the kernel escapes, which are fewer than those at which `splitlines` and `split` cut. So nothing else reads these
files.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

_ESCAPED = re.compile(r"\\([0-7]{3})")


def kernel_text(path: str | Path) -> str:
    """A file's text, with bytes that are no text as `os.fsdecode` keeps them. Raises `OSError`."""
    return os.fsdecode(Path(path).read_bytes())


def kernel_lines(path: str | Path) -> list[str]:
    return [line for line in kernel_text(path).split("\n") if line]


@dataclass(frozen=True)
class Mounted:
    """One file system that this process sees: the part of it that is shown (`root`), where, its kind and options."""

    root: str
    place: str
    kind: str
    options: tuple[str, ...]


def mount_table(path: str | Path = "/proc/self/mountinfo") -> list[Mounted]:
    """The mounts that a file of this form lists, in order (proc(5), `mountinfo`)."""
    found = []
    for line in kernel_lines(path):
        before, _, after = line.partition(" - ")
        root, place = before.split(" ")[3:5]
        kind, *_, options = after.split(" ")  # the source between them may be empty
        found.append(Mounted(_unescaped(root), _unescaped(place), kind, tuple(options.split(","))))
    return found


def _unescaped(name: str) -> str:
    return _ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), name)
