"""The hand-made artifacts under `tests/data` and what tests build from them: edited diffs, worlds, workbenches."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from selfplay.artifact import Artifact, load
from selfplay.plain_text import decode
from selfplay.sandbox import Backend, World

DATA = Path(__file__).parent / "data"
LANGUAGES = ("javascript", "c", "python")
_GIT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}


def original(language: str) -> Path:
    """The folder of the unbroken repository."""
    return DATA / language / "original"


def artifact(language: str) -> Artifact:
    """The valid artifact of that repository."""
    return load(DATA / language / "artifact")


def world(language: str, backend: Backend, folder: Path) -> World:
    """A sandbox world of a copy of the repository, owned as the backend asks."""
    tree = folder / language
    shutil.copytree(original(language), tree, symlinks=True)
    give(tree, backend)
    return World(tree=(tree,), env={"PATH": "/usr/bin:/bin"})


def give(tree: Path, backend: Backend) -> None:
    """Hand a folder and all in it to the user of the sandboxes."""
    if os.geteuid() == 0:
        for path in (tree, *tree.rglob("*")):
            os.chown(path, *backend.owner(), follow_symlinks=False)


def diff(tree: Path, edit: Callable[[Path], None], *options: str) -> str:
    """The git diff that `edit` makes of a copy of `tree`."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        shutil.copytree(tree, copy, symlinks=True)
        _git(copy, "init", "-q")
        _git(copy, "add", "-Af")
        before = _git(copy, "write-tree").strip()
        edit(copy)
        _git(copy, "add", "-Af")
        after = _git(copy, "write-tree").strip()
        return _git(copy, "diff", "--binary", *options, before, after)


def substitute(path: str, old: str, new: str) -> Callable[[Path], None]:
    """An edit: `old`, which the file must hold, becomes `new`."""

    def edit(root: Path) -> None:
        text = (root / path).read_text()
        assert old in text, (path, old)
        (root / path).write_text(text.replace(old, new))

    return edit


def _git(cwd: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, env=_GIT, timeout=30, check=True)
    return decode(done.stdout)
