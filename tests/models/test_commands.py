"""The commands with a model in their own process, as a user runs them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from selfplay.agent.trajectory_file import load


def selfplay(*arguments: object) -> Any:
    argv = [sys.executable, "-m", "selfplay", *(str(argument) for argument in arguments)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=300, env={**os.environ, "COLUMNS": "200"})


@pytest.fixture(scope="session")
def bug(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one bug, made by the script."""
    out = tmp_path_factory.mktemp("runs") / "run"
    made = selfplay("curriculum", shop, "--out", out, "--bugs", 1)
    assert made.returncode == 0, made.stderr
    return out


def test_attempts_of_a_model_in_process(bug: Path, smollm2: Path) -> None:
    """Far too small for the task: its attempts are played, labelled, stored and counted, and the command ends well."""
    short = [
        "--option",
        "max_tokens=12",
        "--option",
        "calls=1",
        "--option",
        "context=4096",
        "--option",
        "dtype=float32",
    ]
    policy = f"transformers:{smollm2}"
    done = selfplay("solve", bug, "--attempts", 2, "--policy", policy, *short, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"opening {policy}\n") and "Traceback" not in done.stderr
    assert "transformers:SmolLM2-135M-Instruct 1: nothing was submitted (out of calls)" in done.stderr
    assert json.loads(done.stdout)["solving"][policy]["reasons"] == {"nothing-handed-in": 2}
    stored = [load(path) for path in sorted((bug / "trajectories").glob("*-solver.jsonl.zst"))]
    assert [trajectory.policy for trajectory in stored] == [policy] * 2
    assert all(t.record.drift == 0 and len(t.record.segments) == 1 for t in stored)
    first, second = (t.record.segments[0] for t in stored)
    said = [[i for i, drawn in zip(s.ids, s.mask, strict=True) if drawn] for s in (first, second)]
    assert said[0] != said[1]  # each attempt draws with seeds of its own
