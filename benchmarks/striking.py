"""Whom a benchmark kills, and how it waits for that: processes by their namespaces, and the Docker engine."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).parent.parent
ENGINE_SECONDS, WATCH_SECONDS = 2.0, 0.01
"""How long the engine is away, and between two looks at a process."""
SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}
INSIDE = ("launcher", "agent", "all agents", "one inside")
KINDS = (*(f"process {name}" for name in SIGNALS), *INSIDE, "mixed", "engine")


def whole(kind: str) -> bool:
    """Whether that kind ends the whole process, which is then started again."""
    return kind.partition(" ")[2] in SIGNALS


def strike(kind: str, process: psutil.Popen, moments: random.Random) -> bool:
    """Kill something of that kind; returns whether there was something."""
    try:
        if kind == "engine":
            restart_engine()
            return True
        if whole(kind):
            process.send_signal(SIGNALS[kind.partition(" ")[2]])
            return True
        if kind == "mixed":
            kind = moments.choice(INSIDE)
        targets = _targets(kind, process)
        for target in targets if kind == "all agents" else moments.sample(targets, min(1, len(targets))):
            target.send_signal(moments.choice(list(SIGNALS.values())) if kind == "launcher" else signal.SIGKILL)
        return bool(targets)
    except psutil.NoSuchProcess:
        return False


def _targets(kind: str, process: psutil.Popen) -> list[psutil.Process]:
    if kind == "launcher":
        return [one for one in process.children() if one.cmdline()[-1:] == [str(process.pid)]]  # whom it serves
    below = process.children(recursive=True)
    return [one for one in below if (numbers := inner(one)) and (numbers[-1] == 1) != (kind == "one inside")]


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


def struck_while_running(
    kind: str, process: psutil.Popen, most: int, moments: random.Random, mean: float, deadline: float
) -> tuple[int, bool]:
    """Strike at most `most` times while the process runs, every `mean` seconds. Returns how often, and whether the run
    has come to its end, or hangs; else a strike ended the process, which is to be started again."""
    struck, due = 0, time.monotonic() + moments.random() * 2 * mean
    while process.poll() is None:
        if time.monotonic() > deadline:
            return struck, True
        if struck < most and time.monotonic() >= due and strike(kind, process, moments):
            struck += 1
            if whole(kind):
                waited(process, deadline)
                return struck, process.poll() is None
            due = time.monotonic() + 1.0 + moments.random() * 2 * mean
        time.sleep(WATCH_SECONDS)
    return struck, True
