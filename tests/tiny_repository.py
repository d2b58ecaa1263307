"""A small real git repository with a past, whose suite takes a moment: what whole runs of the product are tested on."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tiny_shop import FILES, PAST

_GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
}  # fmt: skip


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **_GIT}, capture_output=True, check=True, timeout=60
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def make(folder: Path, files: Mapping[str, str] = FILES, past: tuple[Mapping[str, str], ...] = PAST) -> Path:
    """A repository with a commit per entry of `past` and last one with `files`; the same bytes give the same ids."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for number, content in enumerate([*({**files, **older} for older in past), files]):
        write(folder, content)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--allow-empty", "--message", f"step {number}")
    return folder
