"""Real git repositories made in a temporary folder, one real sandbox backend, one cache for all tests of the room."""

import itertools
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from selfplay.repository.fetching.fetch import reading
from selfplay.repository.fetching.reading import SourceFound
from selfplay.repository.fetching.source import parse_source
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


def ssh_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An `ssh` that runs the command here, whatever the host's name."""
    program = folder / "ssh"
    program.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", f"'{program}'")
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")


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


@pytest.fixture(scope="session")
def backend() -> Iterator[Backend]:
    opened = open_backend()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@dataclass(frozen=True)
class Taken:
    """What a source was found to be, and its two layers."""

    found: SourceFound
    tree: Path
    history: Path

    def git(self, *arguments: str) -> str:
        """The user's git on the `.git` layer, which is ours."""
        return git(self.tree, "-c", "safe.directory=*", f"--git-dir={self.history}/.git", *arguments)


def take(source: object, folder: Path, backend: Backend, releases: int = 0) -> Taken:
    """Read what a user would type, and take its layers out, into a new folder."""
    folder.mkdir()
    folder.chmod(0o755)
    with reading(
        parse_source(str(source)), backend=backend, work=folder, downloads=folder / "downloads", releases=releases,
        progress=lambda line: None,
    ) as (found, inside):  # fmt: skip
        inside.tree(folder / "tree")
        inside.history(found.commit, folder / "history")
    return Taken(found, folder / "tree", folder / "history")


@pytest.fixture
def taken(tmp_path: Path, backend: Backend) -> Callable[..., Taken]:
    """Reads a source, each time in a folder of its own."""
    numbers = itertools.count()
    return lambda source, releases=0: take(source, tmp_path / f"taken-{next(numbers)}", backend, releases)
