"""A supervisor that is killed in the middle of a hundred episodes, and what the next one finds."""

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from selfplay.sandbox import Backend
from selfplay.sandbox.bubblewrap import BubblewrapBackend
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.docker.labels import LABEL_SUPERVISOR
from selfplay.sandbox.owners import scratch

pytestmark = [pytest.mark.slow, pytest.mark.alone]  # looks at what is left on the machine

EPISODES = """
import sys
from concurrent.futures import ThreadPoolExecutor
from selfplay.sandbox import MIB, Limits, World, open_backend

backend = open_backend(sys.argv[1])

def episode(number):
    with backend.open(World(), Limits(memory_bytes=64 * MIB)) as sandbox:
        sandbox.run("(trap '' TERM HUP INT; setsid sleep 300 & sleep 300) & sleep 0.1", timeout=20)
        print(number, flush=True)
        sandbox.run("(trap '' TERM HUP INT; setsid sleep 300 & sleep 300) & sleep 0.2", timeout=20)

with ThreadPoolExecutor(4) as threads:
    list(threads.map(episode, range(100)))
"""
BEFORE = 10
SECONDS = 15.0


def test_a_sigkill_in_the_middle_of_a_hundred_episodes_leaves_nothing(backend: Backend) -> None:
    command = [sys.executable, "-c", EPISODES, backend.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        for _ in range(BEFORE):
            assert supervisor.stdout.readline()
        assert remains(backend, supervisor.pid) != []  # the others of the four are live
        supervisor.send_signal(signal.SIGKILL)
    with contextlib.closing(BubblewrapBackend() if backend.name == "bubblewrap" else DockerBackend()):
        deadline = time.monotonic() + SECONDS
        while (left := remains(backend, supervisor.pid)) and time.monotonic() < deadline:
            time.sleep(0.05)
    assert left == []


SCRATCH = """
import time
from selfplay.sandbox.owners import scratch
with scratch() as folder:
    print(folder, flush=True)
    time.sleep(300)
"""


def test_folders_of_the_killed_are_removed_and_those_of_the_living_are_not(backend: Backend) -> None:
    with scratch() as own, subprocess.Popen([sys.executable, "-c", SCRATCH], stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        folder = Path(supervisor.stdout.readline().decode().strip())
        (folder / "folder").mkdir()
        for killed in (False, True):
            if killed:
                supervisor.kill()
                supervisor.wait(10)
            with contextlib.closing(BubblewrapBackend() if backend.name == "bubblewrap" else DockerBackend()):
                assert (folder.exists(), own.exists()) == (not killed, True)


def remains(backend: Backend, pid: int) -> list[str]:
    """Processes, control groups and containers that carry a supervisor's name."""
    name = f"selfplay-{pid}-"
    groups = [str(path) for path in Path("/sys/fs/cgroup").rglob(f"{name}*")]
    found = []
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        with contextlib.suppress(OSError):
            found += [str(path)] if name in path.read_text() else []
    if isinstance(backend, DockerBackend):
        containers = backend.engine.api.containers(all=True, filters={"label": LABEL_SUPERVISOR})
        found += [one["Id"] for one in containers if one["Labels"][LABEL_SUPERVISOR].startswith(f"{pid}-")]
    return groups + found
