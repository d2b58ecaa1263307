"""Kills and ends in a container that say nothing about a machine, or all about a limit."""

from pathlib import Path

import pytest

from selfplay.agent.tool_use import create
from selfplay.agent.toolset import ToolContext
from selfplay.sandbox import Cause, Limits, Mount, World
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.kill_detection import ProgramKilled, believed, unless_killed

from .attacks import SMALL, python

pytestmark = [pytest.mark.docker, pytest.mark.slow]

LEAVES_SHARED_MEMORY = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for _ in range(400):
    if os.fork() == 0:
        ctypes.memset(libc.shmat(libc.shmget(0, 1 << 20, 0o1600), None, 0), 1, 1 << 20)
        os._exit(0)
    if os.wait()[1]:
        break
"""
ENDS_IN_FLIGHT = """
import array, os, socket
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
ends = array.array("i", [one.fileno(), other.fileno(), 1, 2])
other.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ends)])
os.write(1, b"sent")
os._exit(0)
"""


def test_shared_memory_that_an_earlier_program_left_is_its_sandbox_s_limit(docker: DockerBackend) -> None:
    """On the code before, the cause was unknown, so that a policy could have its own attempts set aside."""
    with docker.open(World(), SMALL) as sandbox:
        python(sandbox, LEAVES_SHARED_MEMORY, timeout=30)
        done = python(sandbox, "x = bytearray(8 << 20)", timeout=20)
        assert done.was_killed and done.over_memory
        with pytest.raises(ProgramKilled, match="whose memory is used up") as killed:
            unless_killed(done, "ours")
        assert killed.value.cause == Cause.LIMIT
    with docker.open(World(), SMALL) as sandbox:  # a kill of its own is none for memory
        done = sandbox.run("kill -9 $$", timeout=10)
        assert done.was_killed and not done.over_memory


def test_a_pipe_s_end_that_nobody_received_does_not_hold_the_agent(docker: DockerBackend) -> None:
    """On the code before, the agent read on until somebody on the machine closed a unix socket."""
    with docker.open(World(), SMALL) as sandbox:
        for _ in range(5):
            done = python(sandbox, ENDS_IN_FLIGHT, timeout=5)
            assert (done.exit_code, done.stdout, done.timed_out) == (0, b"sent", False) and done.seconds < 3


@pytest.fixture
def own_programs(tmp_path: Path) -> World:
    """A world whose repository brings programs with our programs' names."""
    for name in ("sleep", "cat", "mkdir", "sh"):
        (tmp_path / name).write_text("#!/bin/bash\nkill -9 $PPID $$\n")
        (tmp_path / name).chmod(0o755)
    tmp_path.chmod(0o755)
    return World(mounts=(Mount(tmp_path, "/env/bin"),), env={"PATH": "/env/bin:/usr/bin:/bin"})


def test_a_repository_s_sleep_and_cat_are_not_ours(docker: DockerBackend, own_programs: World) -> None:
    """On the code before, such a repository's kills were the machine's, and no tool could write."""

    def start() -> object:
        with docker.open(own_programs, SMALL) as sandbox:
            assert sandbox.run("sleep 1; true", timeout=5).was_killed  # they are what commands find
            return sandbox.run("kill -9 $$", timeout=5)

    assert believed(start, docker, own_programs, Limits()).was_killed  # type: ignore[arg-type]
    with docker.open(own_programs, SMALL) as sandbox:
        create({"path": "made.py", "content": "x = 1\n"}, ToolContext(sandbox, 10.0, ()))
        assert sandbox.read_file("made.py") == b"x = 1\n"
