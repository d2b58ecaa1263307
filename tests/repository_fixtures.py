"""Real git repositories made in a temporary folder, one real sandbox backend, one cache for all tests of the room."""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from selfplay.repository.fetch import Checkout, fetch
from selfplay.repository.gitdir import GitDir
from selfplay.repository.source import parse_source
from selfplay.sandbox import Backend, open_backend

GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GIT_ALLOW_PROTOCOL": "file",
}  # fmt: skip


def git(folder: Path, *args: str) -> str:
    """The user's own git, not ours: what makes the sources."""
    done = subprocess.run(["git", "-C", folder, *args], env={**os.environ, **GIT}, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., Path]:
    """Makes a git repository with one commit per mapping of files."""

    def make(*commits: Mapping[str, str], name: str = "project") -> Path:
        folder = tmp_path / name
        folder.mkdir()
        git(folder, "init", "--quiet", "--initial-branch=trunk")
        for number, files in enumerate(commits):
            write(folder, files)
            git(folder, "add", "--all")
            git(folder, "commit", "--quiet", "--message", f"commit {number}")
        return folder

    return make


@pytest.fixture
def store(tmp_path: Path) -> GitDir:
    return GitDir.create(tmp_path / "store")


@pytest.fixture(scope="session")
def backend() -> Iterator[Backend]:
    opened = open_backend()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def fetch_text(source: object, store: GitDir) -> Checkout:
    """Fetch what a user would type, without a package index."""
    return fetch(parse_source(str(source)), store, downloads=store.path, releases=0, progress=lambda line: None)
