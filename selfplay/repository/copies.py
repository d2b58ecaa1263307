"""Finds other copies of a project among its installed packages.

Installers vendor popular packages, and a project's own test tools may run on an older version of it. What a bug removes
may stand there: scripts do not propose such changes, and a bug's world is searched for leaks before it counts. (To
search each world then, without a copy, would cost more than most suites.)
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from selfplay.plain_text import encode
from selfplay.repository import inside
from selfplay.repository.prepared import Prepared
from selfplay.sandbox import WORKDIR, Backend, Sandbox
from selfplay.sandbox.kill_detection import unless_killed
from selfplay.untrusted_json import AnswerError, answer

LOOK_SECONDS = 120.0
SHORT = 8
"""Characters of a line that tells nothing, as in `inside/copies.py`."""


@dataclass(frozen=True)
class Copies:
    """`places`: folders and files that look like another copy of the project. `lines`: a number of each line of code in
    them."""

    places: tuple[str, ...] = ()
    lines: frozenset[int] = frozenset()

    def share(self, lines: list[str]) -> float:
        """The share of these lines that the copies hold; 0 if none of them tells anything."""
        telling = [line.strip() for line in lines if len(line.strip()) > SHORT]
        return sum(zlib.crc32(encode(line)) in self.lines for line in telling) / max(1, len(telling))


def copies_of(prepared: Prepared, backend: Backend) -> Copies:
    """The copies of a prepared project. Raises `SandboxError`."""
    packages = tuple(mount.target for mount in prepared.mounts)
    if not packages:
        return Copies()
    with backend.open(prepared.world()) as sandbox:
        return copies_in(sandbox, backend.python, packages)


def copies_in(sandbox: Sandbox, python: str, packages: Sequence[str]) -> Copies:
    """The copies of the project of an open sandbox among these folders, by the sandbox's own `python`; if they cannot
    be looked through, all of them count as one. Raises `SandboxError`."""
    command = [python, "-I", "-S", "-c", inside.text("copies.py"), WORKDIR, *packages]
    done = sandbox.run(command, timeout=LOOK_SECONDS, env=sandbox.own_env)
    unless_killed(done, "the look for copies of the project")
    try:
        found = answer(_Found, done.stdout) if done.exit_code == 0 and not done.timed_out else None
    except AnswerError:
        found = None
    return Copies(tuple(found.places), frozenset(found.lines)) if found else Copies(tuple(packages))


@dataclass(frozen=True)
class _Found:
    """What `inside/copies.py` prints."""

    places: list[str]
    lines: list[int]


class CopiesOnce:
    """The copies of one project, looked for by whoever asks first."""

    def __init__(self) -> None:
        self._found: Copies | None = None
        self._lock = Lock()

    def of(self, prepared: Prepared, backend: Backend) -> Copies:
        """Raises what `copies_of` raises; the next caller then looks again."""
        with self._lock:
            if self._found is None:
                self._found = copies_of(prepared, backend)
            return self._found
