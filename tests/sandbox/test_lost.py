"""Why a sandbox ended: a limit met inside, something outside that went away, or unknown. And what is not a loss."""

import contextlib
import os
import signal
import threading
import time
from dataclasses import replace

import pytest

from selfplay.sandbox import (
    MIB,
    Backend,
    Cause,
    InsideError,
    SandboxError,
    SandboxLost,
    World,
    open_backend,
)

from .attacks import SMALL
from .outside import traces

pytestmark = [pytest.mark.slow, pytest.mark.alone]  # looks at what is left on the machine

LITTLE = replace(SMALL, memory_bytes=64 * MIB, disk_bytes=16 * MIB)


def test_an_agent_killed_from_outside_is_lost_and_stays_lost(backend: Backend) -> None:
    with backend.open(World(), SMALL) as sandbox:
        os.kill(traces(backend, sandbox).pid, signal.SIGKILL)
        for _ in range(2):  # the second answer is as typed as the first
            with pytest.raises(SandboxLost, match="the sandbox died") as lost:
                sandbox.run("true", timeout=5)
            assert lost.value.cause == Cause.UNKNOWN
        with pytest.raises(SandboxLost):
            sandbox.read_file("file")


def test_a_command_killed_for_memory_does_not_excuse_a_later_kill(backend: Backend) -> None:
    with backend.open(World(), LITTLE) as sandbox:
        done = sandbox.run(["python3", "-c", "x = bytearray(10**9)"], timeout=20)
        assert done.exit_code != 0
        time.sleep(0.1)
        os.kill(traces(backend, sandbox).pid, signal.SIGKILL)
        with pytest.raises(SandboxLost) as lost:
            sandbox.run("true", timeout=5)
        assert lost.value.cause == Cause.UNKNOWN


def test_an_agent_that_does_not_answer_is_lost(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfplay.sandbox.live.GRACE_SECONDS", 0.5)
    with backend.open(World(), SMALL) as sandbox:
        os.kill(traces(backend, sandbox).pid, signal.SIGSTOP)
        with pytest.raises(SandboxLost, match="did not answer within") as lost:
            sandbox.run("true", timeout=0.5)
        assert lost.value.cause == Cause.UNKNOWN


def test_a_sandbox_that_is_closed_is_not_lost(backend: Backend) -> None:
    failures: list[SandboxError] = []

    def command() -> None:
        try:
            sandbox.run("sleep 100", timeout=100)
        except SandboxError as error:
            failures.append(error)

    with backend.open(World(), SMALL) as sandbox:
        thread = threading.Thread(target=command)
        thread.start()
        time.sleep(0.3)
        sandbox.close()
        thread.join(10)
        with pytest.raises(SandboxError, match="closed") as refused:
            sandbox.run("true", timeout=5)
    assert not isinstance(refused.value, SandboxLost) and not isinstance(failures[0], SandboxLost)
    assert "closed" in str(failures[0])


def test_answers_of_a_living_agent_are_no_losses(backend: Backend) -> None:
    with backend.open(World(), SMALL) as sandbox:
        for attempt in (lambda: sandbox.write_file("more", bytes(40 * MIB)), lambda: sandbox.read_file("/proc")):
            with pytest.raises(InsideError):
                attempt()


FILLS = {
    "memory files": "import os\nfiles = [os.memfd_create(str(n)) for n in range(40)]\n"
    "while True:\n for file in files: os.write(file, bytes(1 << 20))",
    "shared memory": "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n"
    "while True:\n place = libc.shmat(libc.shmget(0, 1 << 20, 0o1600), None, 0)\n"
    " ctypes.memset(place, 1, 1 << 20); libc.shmdt(ctypes.c_void_p(place))",
    "the disk": "import itertools\nfor n in itertools.count():\n open(f'/tmp/{n}', 'wb').write(bytes(1 << 20))",
}
"""Memory that is no process's: what the out-of-memory killer finds is a small command and the agent. Shared memory and
the disk stay when the command ends."""
CHILD = '''
import subprocess, sys
code = """import time
x = [bytearray(10 << 20)]
time.sleep(2)
for _ in range(10):
    x.append(bytearray(10 << 20))
    time.sleep(0.1)
"""
sys.exit(subprocess.run([sys.executable, "-S", "-c", code]).returncode != 0)
'''


@pytest.mark.parametrize("squeezed", [True, False])
def test_a_process_that_the_machine_kills_is_told_from_a_command_that_fails(squeezed: bool) -> None:
    """The command itself lives on and says that something failed: a test with a child, on a machine without memory."""
    backend = open_backend()
    if not backend.cgroups or backend.cgroups.version != 1:  # type: ignore[attr-defined]
        pytest.skip("only under control groups v1 is the group around all sandboxes limited here")
    around = backend.cgroups.folders["memory"] / "memory.limit_in_bytes"  # type: ignore[attr-defined]
    before = around.read_text()
    with backend.open(World(), replace(LITTLE, memory_bytes=256 * MIB)) as sandbox:
        timer = threading.Timer(1.0, lambda: around.write_text(str(40 * MIB)))
        if squeezed:
            timer.start()
        try:
            done = sandbox.run(["python3", "-S", "-c", CHILD], timeout=20)
        finally:
            timer.cancel()
            around.write_text(before)
    assert (done.exit_code, done.killed_for_memory, done.over_memory) == (int(squeezed), squeezed, False)


LOWERED = "open('/proc/self/oom_score_adj', 'w').write('0')\n"


@pytest.mark.parametrize("how", FILLS)
def test_no_memory_that_a_command_takes_is_the_agent_s_death(how: str) -> None:
    """5 of 5 killed the agent when it was in one group with its commands."""
    backend = open_backend()
    if not backend.cgroups:  # type: ignore[attr-defined]
        pytest.skip("no control group limits the memory of a whole sandbox here")
    larger = replace(LITTLE, disk_bytes=2 * LITTLE.memory_bytes) if how == "the disk" else LITTLE
    for _ in range(5):
        with backend.open(World(), larger) as sandbox:
            done = sandbox.run(["python3", "-S", "-c", LOWERED + FILLS[how]], timeout=20)
            assert done.exit_code == -signal.SIGKILL and not done.timed_out
            after = sandbox.run(["true"], timeout=20)  # killed too where the memory is still full, and the agent is not
            assert after.exit_code in (0, -signal.SIGKILL)
            sandbox.run("rm -f /tmp/*", timeout=20)
            with contextlib.suppress(FileNotFoundError):
                sandbox.read_file("/tmp/0")


@pytest.mark.docker
def test_an_agent_killed_by_its_container_s_limit_met_a_limit() -> None:
    """The engine has one group for a whole container, and the kernel chooses between agent and command."""
    causes: list[Cause] = []
    for _ in range(5):
        with open_backend("docker").open(World(), LITTLE) as sandbox:
            try:
                sandbox.run(["python3", "-S", "-c", LOWERED + FILLS["memory files"]], timeout=20)
            except SandboxLost as lost:
                assert "more than its 64 MiB" in lost.message
                causes.append(lost.cause)
    assert set(causes) == {Cause.LIMIT}


SLOWS_THE_AGENT = """
import os
for attempt in (
    lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
    lambda: os.setpriority(os.PRIO_USER, 0, 19),
    lambda: os.setpriority(os.PRIO_PGRP, 1, 19),
    lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
    lambda: os.sched_setaffinity(1, {0}),
):
    try:
        attempt()
    except OSError as error:
        print(error.errno)
print(os.nice(5), len(os.sched_getaffinity(0)) >= 1, os.sched_setaffinity(0, os.sched_getaffinity(0)))
"""
BUSY = "for _ in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; wait"


def test_a_command_cannot_slow_the_agent_and_may_be_nice_itself(backend: Backend) -> None:
    """It took 7.4 s for a limit of 2 s under Docker, with the agent at idle priority and busy commands beside it."""
    with backend.open(World(), SMALL) as sandbox:
        done = sandbox.run(["python3", "-c", SLOWS_THE_AGENT], timeout=20)
        assert done.stdout == b"1\n" * 5 + b"5 True None\n", done.text
        started = time.monotonic()
        done = sandbox.run(BUSY, timeout=2)
        assert done.timed_out and time.monotonic() - started < 2 + 5
        pid = traces(backend, sandbox).pid
        assert os.sched_getscheduler(pid) == os.SCHED_OTHER and os.getpriority(os.PRIO_PROCESS, pid) == 0


def test_a_sandbox_s_share_of_the_processors_is_not_its_agent_s(backend: Backend) -> None:
    """Eight busy processes on a tenth of one core: the agent answers at the deadline, as it has a share of its own."""
    with backend.open(World(), replace(SMALL, cpus=0.1)) as sandbox:
        started = time.monotonic()
        assert sandbox.run(BUSY, timeout=1).timed_out
        assert time.monotonic() - started < 1 + 9


SOCKETS = """
import socket, sys
kind, held, sent, left = sys.argv[1], [], 0, bytes(1 << 15)
server = socket.create_server(("127.0.0.1", 0), backlog=4000)
while len(held) < 1000:
    client = socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 26)
    if kind == "tcp":
        client.connect(server.getsockname())
        other = server.accept()[0]
    else:
        other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        other.bind(("127.0.0.1", 0))
        client.connect(other.getsockname())
    client.setblocking(False)
    held += [client, other]
    try:
        while kind == "tcp" or sent < (1 << 31): sent += client.send(left)
    except BlockingIOError: pass
print(sum(int(line.split()[line.split().index("mem") + 1]) for line in open("/proc/net/sockstat") if " mem " in line))
"""


@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_what_sockets_hold_is_limited(backend: Backend, kind: str) -> None:
    """500 pairs, each filled: 2.4 GB of 256 MB before, with 750. The kernel's own count, in pages, with what the
    machine's other sockets hold and one page for each of these, which it always grants."""
    if backend.enforcement()["sockets"] == "nothing":  # type: ignore[attr-defined]
        pytest.skip("no control group limits sockets here")
    with backend.open(World(), SMALL) as sandbox:
        done = sandbox.run(["python3", "-S", "-c", SOCKETS, kind], timeout=60)
        assert done.exit_code == 0, done.text
        assert int(done.stdout) * 4096 < SMALL.socket_bytes + 32 * MIB
