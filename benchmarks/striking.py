"""Whom a benchmark kills, and how it waits for that: processes by their namespaces, and the Docker engine."""

import os
import subprocess
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).parent.parent
ENGINE_SECONDS = 2.0
"""How long the engine is away."""


def inner(process: psutil.Process) -> list[int]:
    """The pids of a process in the namespaces below ours; empty for one that is in ours, or is gone."""
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return []
    return [int(number) for line in lines if line.startswith("NSpid:") for number in line.split()[2:]]


def waited(process: psutil.Popen, deadline: float) -> None:
    """Wait for its end, if it comes."""
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


def restart_engine() -> None:
    """Kill the engine that DOCKER_HOST names, started by `.ci/docker-engine`, and start it again."""
    place = Path(os.environ["DOCKER_HOST"].removeprefix("unix://")).parent
    engine = psutil.Process(int((place / "dockerd.pid").read_text()))
    engine.kill()
    engine.wait(20)
    time.sleep(ENGINE_SECONDS)
    (place / "dockerd.pid").unlink(missing_ok=True)
    env = {**os.environ, "SELFPLAY_ENGINE": str(place)}
    subprocess.run([str(ROOT / ".ci" / "docker-engine"), "start"], env=env, check=True, capture_output=True)
