"""Finds other copies of a project among its installed packages.

Installers vendor popular packages, and a project's own test tools may run on an older version of it. What a bug removes
may stand there: scripts do not propose such changes, and a bug's world is searched for leaks before it counts. (To
search each world then, without a copy, would cost more than most suites.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from selfplay.plain_text import encode
from selfplay.repository import inside
from selfplay.repository.inside.token_runs import token_runs
from selfplay.repository.prepared import Prepared
from selfplay.sandbox import WORKDIR, Backend, Sandbox
from selfplay.sandbox.kill_detection import undisturbed
from selfplay.untrusted_json import AnswerError, answer

LOOK_SECONDS = 120.0


@dataclass(frozen=True)
class Copies:
    """`places`: folders and files that look like another copy of the project. `runs`: a number of each run of tokens in
    their code."""

    places: tuple[str, ...] = ()
    runs: frozenset[int] = frozenset()

    def share(self, texts: Sequence[str]) -> float:
        """The share of the runs of tokens in these texts that the copies hold; 0 if they have no tokens."""
        own = [run for text in texts for run in token_runs(encode(text))]
        return sum(run in self.runs for run in own) / max(1, len(own))


def copies_of(prepared: Prepared, backend: Backend, *, runs: bool = False) -> Copies:
    """The copies of a prepared project, with their `runs` if asked for. Raises `SandboxError`."""
    packages = tuple(mount.target for mount in prepared.mounts)
    if not packages:
        return Copies()
    with backend.open(prepared.world()) as sandbox:
        return copies_in(sandbox, backend.python, packages, runs=runs)


def copies_in(sandbox: Sandbox, python: str, packages: Sequence[str], *, runs: bool = False) -> Copies:
    """The copies of the project of an open sandbox among these folders, by the sandbox's own `python`; if they cannot
    be looked through, all of them count as one. Raises `SandboxError`."""
    program = "".join(inside.text(name) for name in ("token_runs.py", "copies.py"))
    command = [python, "-I", "-S", "-c", program, "runs" if runs else "places", WORKDIR, *packages]
    done = sandbox.run(command, timeout=LOOK_SECONDS, env=sandbox.own_env)
    if not (done.was_killed and done.over_memory):
        undisturbed(done, "the look for copies of the project", LOOK_SECONDS)
    try:
        found = answer(_Found, done.stdout) if done.exit_code == 0 and not done.timed_out else None
    except AnswerError:
        found = None
    return Copies(tuple(found.places), frozenset(found.runs)) if found else Copies(tuple(packages))


@dataclass(frozen=True)
class _Found:
    """What `inside/copies.py` prints."""

    places: list[str]
    runs: list[int]


class CopiesOnce:
    """The places of the copies of one project, looked for by whoever asks first."""

    def __init__(self) -> None:
        self._found: Copies | None = None
        self._lock = Lock()

    def of(self, prepared: Prepared, backend: Backend) -> Copies:
        """Raises what `copies_of` raises; the next caller then looks again."""
        with self._lock:
            if self._found is None:
                self._found = copies_of(prepared, backend)
            return self._found
