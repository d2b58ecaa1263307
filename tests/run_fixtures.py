"""Whole runs of the command on the tiny repository; its environment is built once for all of them."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tiny_repository
from bench_fixtures import backend

__all__ = ["backend"]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Command:
    """The `selfplay` command, with a cache of its own."""

    cache: Path

    def start(self, *arguments: object, cwd: Path | None = None) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "selfplay", *(str(argument) for argument in arguments)]
        env = {**os.environ, "SELFPLAY_CACHE": str(self.cache), "COLUMNS": "200", "NO_COLOR": "1"}
        return subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, start_new_session=True, cwd=cwd
        )

    def __call__(self, *arguments: object, cwd: Path | None = None) -> Done:
        with self.start(*arguments, cwd=cwd) as process:
            out, err = process.communicate(timeout=500)
        return Done(process.returncode, out, err)


@pytest.fixture(scope="session")
def selfplay() -> Iterator[Command]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # sandboxes of root's runs are somebody else's
        yield Command(Path(folder, "cache"))


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_repository.make(tmp_path_factory.mktemp("shop") / "shop")


@pytest.fixture(scope="session")
def finished(selfplay: Command, shop: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A finished run of four bugs on two workers: read it, copy it, never write to it."""
    out = tmp_path_factory.mktemp("runs") / "run"
    return out, selfplay("curriculum", shop, "--out", out, "--bugs", 4, "--seed", 3, "--workers", 2, "--json")


@pytest.fixture
def source(tmp_path: Path) -> Callable[..., Path]:
    """A repository of the given files and no past."""

    def make(files: Mapping[str, str], name: str = "project") -> Path:
        return tiny_repository.make(tmp_path / name, files, past=())

    return make
