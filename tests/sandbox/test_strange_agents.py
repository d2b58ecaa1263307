"""An agent may be an image's own program, and a program of ours may find another in its place."""

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from selfplay.agent.tool_use import create
from selfplay.agent.toolset import ToolContext
from selfplay.sandbox import Backend, Limits, Mount, Sandbox, SandboxLost, World, ending, messages
from selfplay.sandbox.docker.stream import AttachedLink
from selfplay.sandbox.errors import Cause
from selfplay.sandbox.kill_detection import ProgramKilled, believed, believed_here, unless_killed
from selfplay.sandbox.live import LiveSandbox, receive
from selfplay.sandbox.streams import Streams

from .attacks import SMALL

ENDED = b"done", messages.DONE.pack(0, False, False, 0.5, 0.25), b"", b""


class Told(LiveSandbox):
    """A sandbox whose agent is the other end of a socket."""

    def _kill(self) -> None:
        """Nothing runs."""


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield near, far


def drip(far: socket.socket, data: bytes, seconds: float) -> None:
    with suppress(OSError):
        for byte in data:
            far.send(bytes([byte]))
            time.sleep(seconds)


def test_an_answer_has_one_deadline_however_it_comes(pair: tuple[socket.socket, socket.socket]) -> None:
    near, far = pair
    thread = threading.Thread(target=drip, args=(far, messages.pack(ENDED), 0.1), daemon=True)
    thread.start()
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        messages.unpack(lambda size: receive(near, size, began + 0.5), 4096)
    assert time.monotonic() - began < 1.5


def test_an_agent_that_only_complains_gives_no_answer(pair: tuple[socket.socket, socket.socket]) -> None:
    """Docker's stream holds stderr in frames of its own; they were read for ever."""
    near, far = pair
    link = AttachedLink(near)
    thread = threading.Thread(
        target=drip, args=(far, struct.pack(">BxxxL", 2, 1 << 20) + b"no" * 999, 0.05), daemon=True
    )
    thread.start()
    link.settimeout(0.5)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        link.recv_into(memoryview(bytearray(8)))
    assert time.monotonic() - began < 1.5


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, 1e300])
@pytest.mark.parametrize("place", [0, 1])
def test_a_time_that_cannot_be_loses_the_sandbox(
    pair: tuple[socket.socket, socket.socket], seconds: float, place: int
) -> None:
    near, far = pair
    times = [0.5, 0.25]
    times[place] = seconds
    far.sendall(messages.pack([b"done", messages.DONE.pack(0, False, False, *times), b"", b""]))
    with pytest.raises(SandboxLost):
        Told(near, {}, Limits()).run("true", timeout=1)


def test_processes_that_no_kill_ends_are_the_command_s_own_fault(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy could lose its own attempt at will: thousands of files whose closing waits for the kernel."""
    monkeypatch.setattr(ending, "DYING_SECONDS", 0.05)
    monkeypatch.setattr(ending.posix, "kill", lambda *_: None)
    monkeypatch.setattr(ending.posix, "wait4", lambda *_: (0, 0, None))
    with pytest.raises(ending.Undying):
        ending.kill_all()
    near, far = pair
    far.sendall(messages.pack([b"undying"]))
    with pytest.raises(SandboxLost, match="did not end when they were killed") as lost:
        Told(near, {}, Limits()).run("true", timeout=1)
    assert lost.value.cause == Cause.LIMIT


def test_nothing_of_the_machine_is_writable_below_proc(sandbox: Sandbox) -> None:
    """`/proc/pressure` was: each close of one of its files takes 13 ms, which no signal ends."""
    own = "-path '/proc/[0-9]*' -o -path /proc/self -o -path /proc/thread-self"
    done = sandbox.run(f"find /proc \\( {own} \\) -prune -o -type f -writable -print 2>/dev/null", timeout=30)
    for path in done.stdout.decode().split():
        code = (
            f"import os, stat, sys\nif stat.S_ISREG(os.stat({path!r}).st_mode): open({path!r}, 'r+')\nelse: sys.exit(1)"
        )
        assert sandbox.run(["python3", "-c", code], timeout=10).exit_code == 1, path  # or a device that is in its place


def test_the_machines_folders_of_proc_are_empty(sandbox: Sandbox) -> None:
    """Of `/proc/fs` a file was read under the lock of a file system: forty readers held up each write for a second."""
    done = sandbox.run(
        "cd /proc && for one in */; do [ -L ${one%/} ] || echo $one $(ls -A $one | wc -l); done", timeout=30
    )
    full = {line.split()[0] for line in done.text.splitlines() if not line[0].isdigit() and line.split()[1] != "0"}
    assert full <= {"sys/", "sysvipc/"} and "sys/" in full and len(done.text.splitlines()) > 4


def test_an_end_of_a_pipe_that_nobody_closes_holds_nothing() -> None:
    """As in messages between sockets that nobody received; every process is dead by then."""
    streams = Streams(b"", 4096, merge=False)
    os.write(streams.ends[1], b"said before")
    began = time.monotonic()
    streams.drain()  # the writing ends are open
    assert streams.out.kept() == b"said before" and time.monotonic() - began < 1
    streams.handed_over()


SHARED = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for _ in range(600):
    if os.fork() == 0:
        ctypes.memset(libc.shmat(libc.shmget(0, 1 << 20, 0o1600), None, 0), 1, 1 << 20)
        os._exit(0)
    if os.wait()[1]:
        break
"""


@pytest.mark.attacks
def test_a_kill_for_the_sandbox_s_own_memory_is_a_limit(sandbox: Sandbox, backend: Backend) -> None:
    """Shared memory of System V belongs to no process. Who filled it got its later losses booked as nobody's fault."""
    enforced = SMALL.memory_bytes and sandbox.run([backend.python, "-c", SHARED], timeout=60)
    assert enforced
    done = sandbox.run([backend.python, "-I", "-c", "x = bytearray(64 << 20); x[::4096] = x[::4096]"], timeout=30)
    assert done.was_killed and done.over_memory
    with pytest.raises(ProgramKilled) as lost:
        unless_killed(done, "ours")
    assert lost.value.cause is Cause.LIMIT
    assert believed_here(sandbox, lambda: done, 1) is done, "no idle program is asked in a sandbox that is full"


@pytest.mark.slow
def test_a_kill_by_a_program_itself_is_no_limit(sandbox: Sandbox) -> None:
    done = sandbox.run("kill -9 $$", timeout=10)
    assert done.was_killed and not done.over_memory


@pytest.mark.slow
def test_programs_of_a_repository_do_not_stand_in_for_ours(backend: Backend, tmp_path: Path) -> None:
    for name in ("sleep", "cat", "mkdir", "bash", "sh"):
        (tmp_path / name).write_text("#!/bin/bash\nkill -9 $PPID $$\n")
        (tmp_path / name).chmod(0o755)
    world = World(mounts=(Mount(tmp_path, "/env/bin"),), env={"PATH": "/env/bin:/usr/bin:/bin"})
    with backend.open(world, SMALL) as sandbox:
        assert believed(lambda: sandbox.run("kill -9 $$", timeout=10), backend, world, SMALL).was_killed
        made = create({"path": "x.py", "content": "1"}, ToolContext(sandbox, 10.0))
        assert not made.malformed and sandbox.read_file("/testbed/x.py") == b"1"


ENDS_IN_FLIGHT = """
import array, os, socket
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
ends = array.array("i", [one.fileno(), other.fileno(), 1, 2])
other.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ends)])
os.write(1, b"sent")
os._exit(0)
"""


@pytest.mark.attacks
def test_a_pipe_s_end_that_nobody_received_does_not_hold_the_agent(sandbox: Sandbox, backend: Backend) -> None:
    """The agent read on until somebody on the machine closed a unix socket, which may take long."""
    for _ in range(5):
        done = sandbox.run([backend.python, "-S", "-c", ENDS_IN_FLIGHT], timeout=5)
        assert (done.exit_code, done.stdout, done.timed_out) == (0, b"sent", False) and done.seconds < 3


RENICED = """
import os
for thread in map(int, os.listdir("/proc/1/task")):
    for change in (lambda: os.setpriority(0, thread, 19), lambda: os.sched_setscheduler(thread, 5, os.sched_param(0)),
                   lambda: os.sched_setaffinity(thread, {min(os.sched_getaffinity(0))})):
        try:
            change()
        except OSError:
            pass
"""
STANDING = "import os; print(os.getpriority(0, 0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0)))"


@pytest.mark.attacks
def test_no_command_changes_how_the_next_one_starts(sandbox: Sandbox, backend: Backend) -> None:
    def standing() -> bytes:
        return sandbox.run([backend.python, "-S", "-c", STANDING], timeout=20).stdout

    before = standing()
    for _ in range(3):
        sandbox.run([backend.python, "-S", "-c", RENICED], timeout=20)
        assert standing() == before


@pytest.mark.attacks
def test_no_lease_holds_a_file_that_others_open(sandbox: Sandbox, backend: Backend) -> None:
    code = (
        "import fcntl, os\n"
        "for path in ('/testbed/own', '/etc/passwd'):\n"
        "    file = os.open(path, os.O_RDONLY | (os.O_CREAT if 'own' in path else 0))\n"
        "    for how in (1024, 1026):\n"
        "        try:\n            fcntl.fcntl(file, how, 0)\n            print('held')\n"
        "        except PermissionError:\n            print('refused')\n"
    )
    said = sandbox.run([backend.python, "-S", "-c", code], timeout=20)
    assert said.stdout.split() == [b"refused"] * 4, said.text


@pytest.mark.slow
def test_a_sandbox_lives_on_when_its_user_changes_its_priority(backend: Backend) -> None:
    """From outside, as by `renice`, or `taskset`: the threads that start commands are made anew as the agent stands."""
    if backend.name != "bubblewrap":
        pytest.skip("a container's processes are the engine's")
    with backend.open(World(), SMALL) as sandbox:
        before = sandbox.run([backend.python, "-S", "-c", STANDING], timeout=20).stdout
        for thread in Path(f"/proc/{sandbox.hello.pid}/task").iterdir():  # type: ignore[attr-defined]
            os.setpriority(os.PRIO_PROCESS, int(thread.name), 5)
        after = sandbox.run([backend.python, "-S", "-c", STANDING], timeout=20).stdout
    assert before.startswith(b"0 ") and after.startswith(b"5 ")
