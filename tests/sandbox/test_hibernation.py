"""An idle agent rests as a shell: what runs after that runs as before, and what a command left behind has no part."""

import contextlib
import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfplay.sandbox import Mount, World, hibernation, launcher, messages
from selfplay.sandbox.bubblewrap import BubblewrapBackend
from selfplay.sandbox.bubblewrap_sandbox import BubblewrapSandbox
from selfplay.sandbox.ulimits import descriptors

from .attacks import SMALL
from .outside import left_in_the_end, ticks, traces
from .test_lifecycle import gone

IDLE = 0.05
PATIENCE_SECONDS = 10.0


@pytest.fixture(scope="module")
def drowsy() -> Iterator[BubblewrapBackend]:
    """Its agents rest as soon as they are left alone."""
    with contextlib.closing(BubblewrapBackend(IDLE)) as backend:
        yield backend


@pytest.fixture
def sandbox(drowsy: BubblewrapBackend) -> Iterator[BubblewrapSandbox]:
    with contextlib.closing(drowsy.start(World(env={"A": "ü"}), SMALL)) as opened:
        yield opened


def asleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/comm").read_text() == "sh\n"


def rested(pid: int) -> None:
    """Wait until an agent rests."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not asleep(pid):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def own_bytes(pid: int) -> int:
    """Memory of a process that it shares with no file."""
    _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
    return (resident - shared) * os.sysconf("SC_PAGESIZE")


EVERYTHING = """
pwd; env | sort; umask; ulimit -a; ls /proc/self/fd; cat /proc/self/oom_score_adj /proc/1/oom_score_adj
grep -hE '^(Cap|Sig|NoNewPrivs|Seccomp|Threads)' /proc/self/status /proc/1/status
stat -c '%U %a' /proc/1/environ; cat /proc/1/environ; ls /proc/1/fd; ls -A /testbed /tmp ~; set -- /proc/[0-9]*; echo $#
"""


def test_a_command_after_a_rest_finds_what_one_before_it_found(sandbox: BubblewrapSandbox) -> None:
    """On a busy machine a look may count a process that is just leaving: one of five first looks must be the same."""
    before = {seen(sandbox) for _ in range(3)}
    assert all("A=ü\n" in one and "Permission denied" in one for one in before)
    for _ in range(2):
        assert any(rested(sandbox.hello.pid) or seen(sandbox) in before for _ in range(5))


def seen(sandbox: BubblewrapSandbox) -> str:
    done = sandbox.run(EVERYTHING, timeout=10)
    assert done.exit_code == 0
    return done.text


@pytest.mark.slow
def test_commands_and_files_after_a_rest(sandbox: BubblewrapSandbox) -> None:
    data = bytes(range(256)) * 8192
    sandbox.run("echo kept > file; setsid sleep 100 &", timeout=10)
    rested(sandbox.hello.pid)
    assert sandbox.read_file("file") == b"kept\n"
    rested(sandbox.hello.pid)
    sandbox.write_file("deep/file", data, mode=0o600)
    rested(sandbox.hello.pid)
    assert sandbox.run("stat -c %a deep/file", timeout=10).stdout == b"600\n"
    rested(sandbox.hello.pid)
    done = sandbox.run("sha256sum", stdin=data, timeout=20)
    assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()
    rested(sandbox.hello.pid)
    done = sandbox.run("trap '' TERM; echo begun; setsid sleep 100 & sleep 100", timeout=0.3)
    assert done.timed_out and done.stdout == b"begun\n"
    rested(sandbox.hello.pid)
    assert sandbox.run(["no-such-program"], timeout=10).exit_code == 127


def test_a_long_command_is_no_idleness(sandbox: BubblewrapSandbox) -> None:
    done = sandbox.run(f"sleep {4 * IDLE}; cat /proc/1/comm", timeout=10)
    assert done.stdout != b"sh\n" and done.exit_code == 0


def test_a_rest_gives_memory_back(sandbox: BubblewrapSandbox) -> None:
    sandbox.run("true", timeout=10)
    awake = own_bytes(sandbox.hello.pid)
    rested(sandbox.hello.pid)
    assert own_bytes(sandbox.hello.pid) < awake / 4


@pytest.mark.slow
def test_requests_that_race_with_falling_asleep() -> None:
    chance = random.Random(1)
    with contextlib.closing(BubblewrapBackend(0.003)) as backend, backend.open(World(), SMALL) as sandbox:
        for number in range(200):
            time.sleep(chance.uniform(0.001, 0.006))
            assert sandbox.run(["echo", str(number)], timeout=10).stdout == b"%d\n" % number


TRAPS = """
mark='echo ran >> /tmp/ran'
for file in .bashrc .profile .bash_profile .bash_login .shrc .kshrc .env; do echo "$mark" > ~/$file; done
mkdir -p trap/encodings; cd trap
for name in sh read exec python3 python3.11 env; do printf '#!/bin/sh\n%s\n' "$mark" > $name; chmod 755 $name; done
for name in sitecustomize usercustomize posix select struct _ctypes _stat resource time encodings/__init__ pyvenv; do
    echo "import os; os.system('$mark')" > $name.py
done
printf 'home = /testbed/trap\n' > pyvenv.cfg
(trap '' TERM HUP; setsid sleep 100) &
ulimit -n 3; umask 777; kill -TERM 1; kill -ALRM 1; renice 19 1
"""


def test_what_a_command_left_has_no_part_in_waking(sandbox: BubblewrapSandbox) -> None:
    hostile = {"LD_PRELOAD": "/testbed/trap/sh", "ENV": "/home/sandbox/.env", "BASH_ENV": "/home/sandbox/.env"}
    hostile |= {"PATH": "/testbed/trap:/usr/bin:/bin", "PYTHONPATH": "/testbed/trap", "PYTHONHOME": "/testbed/trap"}
    assert b"ran" not in sandbox.run(TRAPS, timeout=10).stdout
    sandbox.run(["true"], timeout=10, cwd="/testbed/trap", env=hostile)
    rested(sandbox.hello.pid)
    assert Path(f"/proc/{sandbox.hello.pid}/cwd").readlink() == Path("/")
    assert set(Path(f"/proc/{sandbox.hello.pid}/environ").read_bytes().split(b"\0")) <= {b"", b"PWD=/"}
    assert sandbox.run("umask; ulimit -n; ls /tmp", timeout=10).stdout.split() == [
        b"0022",
        b"%d" % descriptors(sandbox.hello.uid),
    ]


@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_a_resting_shell_reads_one_line_and_nothing_of_its_home(shell: str, pipe: bool, tmp_path: Path) -> None:
    """Bash reads `.bashrc` when its input is a socket, unless it is called `sh`."""
    for name in (".bashrc", ".profile", ".env"):
        (tmp_path / name).write_text("echo hostile\n")
    env = {"HOME": str(tmp_path), "ENV": str(tmp_path / ".env")}
    reader, writer = os.pipe() if pipe else (end.detach() for end in socket.socketpair())
    try:
        os.write(writer, messages.WAKE + b"\nthe request\n")
        command = ["sh", "-c", hibernation.RESTING, "/bin/cat", "-"]
        with subprocess.Popen(command, executable=shell, stdin=reader, stdout=subprocess.PIPE, env=env) as process:
            os.close(writer)
            assert process.stdout is not None and process.stdout.read() == b"\nthe request\n"
    finally:
        os.close(reader)


def test_a_hang_up_ends_a_resting_sandbox(drowsy: BubblewrapBackend, sandbox: BubblewrapSandbox) -> None:
    rested(sandbox.hello.pid)
    of, ended = traces(drowsy, sandbox), ticks()
    sandbox._link.shutdown(socket.SHUT_RDWR)
    assert gone([sandbox.hello.pid])  # by itself: nothing was killed
    sandbox.close()
    assert left_in_the_end(of, ended) == []


SUPERVISOR = """
import sys, time
from selfplay.sandbox import World
from selfplay.sandbox.bubblewrap import BubblewrapBackend
backend = BubblewrapBackend(0.01)
box = backend.start(World())
print(box.hello.pid, flush=True)
time.sleep(300)
"""


def test_a_resting_sandbox_dies_with_its_supervisor() -> None:
    with subprocess.Popen([sys.executable, "-c", SUPERVISOR], stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        pid = int(supervisor.stdout.readline())
        try:
            rested(pid)
        finally:
            supervisor.send_signal(signal.SIGKILL)
    assert gone([pid])


def test_without_a_shell_an_agent_stays_awake(drowsy: BubblewrapBackend, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    hidden = Mount(tmp_path / "empty", str(Path("/bin/sh").resolve()))
    with contextlib.closing(drowsy.start(World(mounts=(hidden,)), SMALL)) as sandbox:
        fds = sandbox.run("ls /proc/self/fd", timeout=10).stdout
        time.sleep(5 * IDLE)
        assert not asleep(sandbox.hello.pid)
        assert sandbox.run("ls /proc/self/fd", timeout=10).stdout == fds


def test_the_program_that_wakes_cannot_be_changed() -> None:
    held = launcher.filled("program", b"code")
    try:
        for attempt in (
            lambda: os.pwrite(held, b"evil", 0),
            lambda: os.ftruncate(held, 0),
            lambda: os.write(held, b"x"),
        ):
            with pytest.raises(PermissionError):
                attempt()
    finally:
        os.close(held)
