"""One backend fixture for all tests of what a sandbox promises: a new backend is a new parameter."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from selfplay.sandbox import Backend, Sandbox, World, open_backend

from .attacks import SMALL

if TYPE_CHECKING:  # an ordinary user's Python has no Docker SDK
    from selfplay.sandbox.docker.backend import DockerBackend


@pytest.fixture(scope="session", params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def backend(request: pytest.FixtureRequest) -> Backend:
    return open_backend(request.param)


@pytest.fixture(scope="session")
def docker() -> "DockerBackend":
    from selfplay.sandbox.docker.backend import DockerBackend

    opened = open_backend("docker")
    assert isinstance(opened, DockerBackend)
    return opened


@pytest.fixture(scope="session")
def debian() -> str:
    """The name of an image with its own programs."""
    name = "selfplay-debian"
    subprocess.run([Path(__file__).parents[2] / ".ci" / "docker-image", name], check=True, timeout=200)
    return name


@pytest.fixture
def sandbox(backend: Backend) -> Iterator[Sandbox]:
    """An empty sandbox with small limits."""
    with backend.open(World(), SMALL) as opened:
        yield opened


@pytest.fixture
def give(backend: Backend) -> Callable[[Path], Path]:
    """Gives a folder and all in it to the sandboxes' uid, as the repository room does with trees."""

    def hand_over(folder: Path) -> Path:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, *backend.owner(), follow_symlinks=False)
        return folder

    return hand_over


@pytest.fixture
def tree(tmp_path: Path, give: Callable[[Path], Path]) -> Path:
    """A small lower layer: `kept`, `folder/inner`, and links that point out of it."""
    root = tmp_path / "a tree, with: odd name ü"
    (root / "folder").mkdir(parents=True)
    (root / "kept").write_text("original\n")
    (root / "folder" / "inner").write_text("inner\n")
    secret = tmp_path / "secret"
    secret.write_text("host secret\n")
    (root / "link").symlink_to(secret)
    (root / "shadow").symlink_to("/etc/shadow")
    return give(root)
