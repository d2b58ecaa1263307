"""`--allow-host`, as it is typed."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("command", [["curriculum"], ["image", "build"]])
def test_it_is_explained(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "selfplay", *command, "--help"], capture_output=True, text=True)
    assert "--allow-host" in done.stdout


@pytest.mark.slow
def test_what_is_no_host_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    options = ["--allow-host", "github.com", "--allow-host", "https://github.com/x", "--out", str(tmp_path / "run")]
    command = [sys.executable, "-m", "selfplay", "curriculum", str(tmp_path / "project"), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "'https://github.com/x' is not a host that a build may be allowed" in done.stderr
    assert not (tmp_path / "run").exists()
