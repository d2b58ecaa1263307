"""Finds the Pythons on this machine, and chooses one for a project.

A Python under /usr is preferred: every sandbox contains it, and every user of the machine can run it.
"""

import contextlib
import functools
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet

from selfplay import subprocesses
from selfplay.artifact.environment import PYTHON_VERSION
from selfplay.repository.errors import NoInterpreter
from selfplay.sandbox import Backend, World
from selfplay.sandbox.kill_detection import believed_here
from selfplay.untrusted_json import answer
from selfplay.user_paths import home

QUERY = "import json,sys; print(json.dumps([sys.version.split()[0].rstrip('+'), sys.base_prefix, sys.executable]))"
FOLDERS = ("/usr/bin", "/usr/local/bin")
MANAGED = (".pyenv/versions/*/bin/python3", ".local/share/uv/python/*/bin/python3")
INSIDE_SECONDS, MOST_INSIDE = 30.0, 20
LISTED = "command -v python python3; ls -d /usr/{local/,}bin/python3.*[0-9]"
INSIDE = re.compile(r"(?:/[\w.+-]{1,100}){1,20}", re.ASCII)
"""Where an image's Python may be."""


@dataclass(frozen=True)
class Interpreter:
    """`prefix` is None for a Python under /usr, else its folder, of which a part is shown in sandboxes at the same
    path."""

    version: str
    executable: Path
    prefix: Path | None


def choose(
    requires: str | None, wanted: str | None = None, available: tuple[Interpreter, ...] | None = None
) -> Interpreter:
    """An interpreter that satisfies `requires`; `wanted` (a version like 3.12, or a path) overrides it.

    `available`: choose from these, not from the machine's. Raises `NoInterpreter`, which names what was wanted and what
    exists.
    """
    if wanted and "/" in wanted and available is None:
        if (found := query(Path(wanted))) is None:
            raise NoInterpreter(f"{wanted} is not a Python interpreter that runs")
        return found
    stated = f"=={wanted}.*" if wanted and wanted.count(".") < 2 else f"=={wanted}" if wanted else requires or ""
    available = discover() if available is None else available
    try:
        specifier = SpecifierSet(stated)
        fitting = [python for python in available if specifier.contains(python.version, prereleases=True)]
    except ValueError:  # no range, or one with a number that Python cannot read
        fitting = list(available)
    if not fitting:
        have = ", ".join(sorted({python.version for python in available})) or "none"
        raise NoInterpreter(
            f"the project needs Python {stated or 'of any version'}, but this machine has {have}",
            "Install one that fits (your distribution's packages, pyenv or `uv python install`), or name one.",
        )
    return fitting[0]


@functools.cache
def discover() -> tuple[Interpreter, ...]:
    """Every interpreter found, those under /usr first, then newest first."""
    found: dict[tuple[str, Path | None], Interpreter] = {}
    for path in _candidates():
        if (python := query(path)) is not None:
            found.setdefault((python.version, python.prefix), python)
    order = sorted(found.values(), key=lambda python: [int(part) for part in _numbers(python.version)], reverse=True)
    return tuple(sorted(order, key=lambda python: python.prefix is not None))


def _numbers(version: str) -> list[str]:
    return ["".join(filter(str.isdigit, part)) or "0" for part in version.split(".")]


def _candidates() -> Iterator[Path]:
    yield Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    on_path = [
        folder
        for folder in os.environ.get("PATH", "").split(os.pathsep)
        if folder.startswith("/") and "shims" not in folder
    ]
    for folder in dict.fromkeys([*FOLDERS, *on_path]):
        with suppress(OSError):  # closed to this user, as a folder of root's in an inherited PATH
            yield from sorted(Path(folder).glob("python3.[0-9]*[0-9]"))
    own = home()
    for pattern in MANAGED:
        yield from sorted(own.glob(pattern)) if own else ()


def query(path: Path) -> Interpreter | None:
    """The interpreter at `path`, as it describes itself; None if it does not run."""
    try:
        said = subprocesses.run([path, "-I", "-S", "-c", QUERY], timeout=10, check=True)
        version, prefix, executable = answer(tuple[str, str, str], said.stdout)
    except (OSError, subprocesses.Failed, ValueError):
        return None
    base = Path(prefix).resolve()
    real = Path(executable).resolve()
    return Interpreter(version, real, None if base.is_relative_to("/usr") else base)


def found_inside(backend: Backend) -> tuple[Interpreter, ...]:
    """The Pythons of a backend's image, each asked to describe itself; the first on the path comes first. The image is
    untrusted: few names are accepted, and all share one deadline."""
    found: dict[str, Interpreter] = {}
    deadline = time.monotonic() + INSIDE_SECONDS
    with backend.open(World()) as sandbox:
        seen = believed_here(sandbox, lambda: sandbox.run(LISTED, timeout=INSIDE_SECONDS), 2)
        listed = seen.stdout.decode("utf-8", "replace")
        names = dict.fromkeys(line for line in listed.splitlines() if INSIDE.fullmatch(line))
        for name in list(names)[:MOST_INSIDE]:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            done = believed_here(
                sandbox, functools.partial(sandbox.run, [name, "-I", "-S", "-c", QUERY], timeout=left), 2
            )
            with contextlib.suppress(ValueError):
                version, _, executable = answer(tuple[str, str, str], done.stdout)
                if PYTHON_VERSION.fullmatch(version) and INSIDE.fullmatch(executable):
                    found.setdefault(version, Interpreter(version, Path(executable), None))
    return tuple(found.values())
