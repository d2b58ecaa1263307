"""Whole runs of the command on the tiny repository; its environment is built once for all of them."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
import tiny_repository
from bench_fixtures import backend
from copied_runs import copy_of
from together import made_once, together

from selfplay.cli import main
from selfplay.curriculum.calibrations import CALIBRATION_FILE

__all__ = ["backend", "together"]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Running:
    """A command that goes on. Tests wait for what it says, never for a time."""

    process: subprocess.Popen[str]

    def until(self, text: str) -> str:
        """The first line of its progress that holds the text; fails when it ends without one."""
        assert self.process.stderr is not None
        said = []
        for line in self.process.stderr:
            said.append(line)
            if text in line:
                return line
        raise AssertionError(f"ended without a line with {text!r}:\n{''.join(said)}")

    def pause(self) -> None:
        """Stop it where it is, so that it cannot end before the test has done what it is about."""
        self.process.send_signal(signal.SIGSTOP)

    def ends_by(self, how: signal.Signals) -> tuple[int, str]:
        """Send the signal, paused or not; its exit code, and the progress that was not read yet."""
        assert self.process.stderr is not None
        self.process.send_signal(how)
        self.process.send_signal(signal.SIGCONT)
        said = self.process.stderr.read()
        return self.process.wait(), said


@dataclass(frozen=True)
class Command:
    """The `selfplay` command, with a cache of its own."""

    cache: Path

    def start(self, *arguments: object, cwd: Path | None = None) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "selfplay", *(str(argument) for argument in arguments)]
        env = {**os.environ, **self.env}
        return subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, start_new_session=True, cwd=cwd
        )

    @property
    def env(self) -> dict[str, str]:
        return {"SELFPLAY_CACHE": str(self.cache), "COLUMNS": "200", "NO_COLOR": "1"}

    def here(self, *arguments: object) -> Done:
        """The command in this process, which is spared its start: for what is answered before anything is begun."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(sys, "argv", ["selfplay", *map(str, arguments)])
            for name, value in self.env.items():
                patch.setenv(name, value)
            for name in ("PYTHONSAFEPATH", "PYTHONPATH"):  # which the command sets: as they were, for other tests
                patch.setenv(name, os.environ.get(name, ""))
            with pytest.raises(SystemExit) as end:
                main()
        return Done(int(end.value.code or 0), out.getvalue(), err.getvalue())

    @contextmanager
    def running(self, *arguments: object, cwd: Path | None = None) -> Iterator[Running]:
        """The command in the background; killed when the block is left before it has ended."""
        with self.start(*arguments, cwd=cwd) as process:
            try:
                yield Running(process)
            finally:
                process.kill()

    def __call__(self, *arguments: object, cwd: Path | None = None) -> Done:
        with self.start(*arguments, cwd=cwd) as process:
            out, err = process.communicate(timeout=500)
        return Done(process.returncode, out, err)


def done_once(place: Path, run: Callable[[Path], Done]) -> tuple[Path, Done]:
    """The run's folder and what the command said, of a command that all workers need once: it gets the folder."""

    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / "done.json").write_text(json.dumps(asdict(run(folder / "run"))))

    made_once(place, make)
    return place / "run", Done(**json.loads((place / "done.json").read_text()))


@pytest.fixture(scope="session")
def selfplay(together: Path) -> Command:
    return Command(together / "cache")


@pytest.fixture(scope="session")
def shop(together: Path) -> Path:
    return made_once(together / "shop", tiny_repository.make)


@pytest.fixture(scope="session")
def finished(selfplay: Command, shop: Path, together: Path) -> tuple[Path, Done]:
    """A finished run of four bugs on two workers: read it, copy it, never write to it."""

    return done_once(
        together / "finished",
        lambda out: selfplay("curriculum", shop, "--out", out, "--bugs", 4, "--seed", 3, "--workers", 2, "--json"),
    )


def with_calibrations(selfplay: Command, run: Path, folder: Path) -> Path:
    """A copy of a run, with what its graders measured beside each bug and nothing else that grading leaves."""
    graded = folder.with_suffix(".graded")
    shutil.rmtree(graded, ignore_errors=True)  # of one that failed
    copy_of(run, graded)
    done = selfplay("solve", graded, "--policy", "gold", "--attempts", 1)
    assert done.code == 0, done.err
    copy_of(run, folder)
    for bug in (folder / "bugs").iterdir():
        shutil.copy(graded / "bugs" / bug.name / CALIBRATION_FILE, bug)
    shutil.rmtree(graded)
    return folder


@pytest.fixture(scope="session")
def calibrated(selfplay: Command, finished: tuple[Path, Done], together: Path) -> Path:
    """The finished run with its calibrations, for tests that grade: copy it, never write to it."""
    return made_once(together / "calibrated", lambda folder: with_calibrations(selfplay, finished[0], folder))


@pytest.fixture
def source(tmp_path: Path) -> Callable[..., Path]:
    """A repository of the given files and no past."""

    def make(files: Mapping[str, str], name: str = "project") -> Path:
        return tiny_repository.make(tmp_path / name, files, past=())

    return make
