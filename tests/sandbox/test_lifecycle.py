"""Who dies when: sandboxes with their supervisor, commands with their sandbox, and nothing is left behind."""

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from selfplay.sandbox import Backend, Limits, Sandbox, SandboxError, World, cgroups, messages, owners
from selfplay.sandbox.bubblewrap import BubblewrapBackend
from selfplay.sandbox.bubblewrap_sandbox import BubblewrapSandbox
from selfplay.sandbox.launching import Hello

from .attacks import SMALL
from .outside import left_in_the_end, ticks, traces

pytestmark = [pytest.mark.slow, pytest.mark.alone]  # looks at what is left on the machine

SUPERVISOR = """
import sys, time
from selfplay.sandbox import World
from selfplay.sandbox.bubblewrap import BubblewrapBackend
backend = BubblewrapBackend()
boxes = [backend.start(World()) for _ in range(2)]
groups = ",".join(str(folder) for folder in backend.cgroups.folders.values()) if backend.cgroups else "none"
print(backend._launcher._process.pid, *(box.hello.pid for box in boxes), groups, flush=True)
boxes[0].run("(trap '' TERM HUP; setsid sleep 300) & sleep 300", timeout=300)
"""


def alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids: list[int], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(alive, pids))


def namespace_members(namespace: str) -> list[int]:
    members = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and str((entry / "ns" / "pid").readlink()) == namespace:
                members.append(int(entry.name))
    return members


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_everything_dies_with_the_supervisor(how: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", SUPERVISOR], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as one:
        assert one.stdout is not None
        *numbers, groups = one.stdout.readline().split()
        pids = [int(number) for number in numbers]
        namespace = str(Path(f"/proc/{pids[1]}/ns/pid").readlink())
        deadline = time.monotonic() + 10
        while len(namespace_members(namespace)) < 4 and time.monotonic() < deadline:  # agent, bash and two sleeps
            time.sleep(0.01)
        members = namespace_members(namespace)
        assert len(members) >= 4 and all(map(alive, pids))
        one.send_signal(how)
    assert gone([*pids, *members])
    if groups != b"none":
        with contextlib.closing(BubblewrapBackend()):  # the next supervisor removes what this one left
            assert not [folder for folder in groups.decode().split(",") if Path(folder).exists()]


def test_closing_ends_a_running_command_and_all_it_started(backend: Backend) -> None:
    with backend.open(World(), SMALL) as sandbox:
        of = traces(backend, sandbox)
        failures: list[SandboxError] = []

        def command() -> None:
            try:
                sandbox.run("setsid sleep 300 & sleep 300", timeout=300)
            except SandboxError as error:
                failures.append(error)

        thread = threading.Thread(target=command)
        thread.start()
        while len(namespace_members(of.namespaces["pid"])) < 4:
            time.sleep(0.01)
        ended = ticks()
        sandbox.close()
        thread.join(10)
        assert not thread.is_alive() and left_in_the_end(of, ended) == []
        assert "closed" in str(failures[0])
        sandbox.close()  # twice is fine
        with pytest.raises(SandboxError, match="closed"):
            sandbox.run("true", timeout=1)


def test_a_sandbox_that_died_says_so_and_others_live_on(backend: Backend) -> None:
    with backend.open(World(), SMALL) as other, backend.open(World(), SMALL) as sandbox:
        os.kill(traces(backend, sandbox).pid, signal.SIGKILL)
        for attempt in (lambda: sandbox.run("true", timeout=5), lambda: sandbox.read_file("x")):
            with pytest.raises(SandboxError, match=r"the sandbox (died|is closed)"):
                attempt()
        assert other.run("echo alive", timeout=10).stdout == b"alive\n"


def test_a_launcher_that_died_is_replaced() -> None:
    with contextlib.closing(BubblewrapBackend()) as backend:
        with backend.open(World(), SMALL) as sandbox:
            launcher = backend._launcher._process
            assert launcher is not None
            launcher.kill()
            launcher.wait()
            with pytest.raises(SandboxError):
                sandbox.run("sleep 10", timeout=20)
        with backend.open(World(), SMALL) as sandbox:
            assert sandbox.run("echo again", timeout=10).stdout == b"again\n"


def test_nothing_is_left_after_many_lives() -> None:
    with contextlib.closing(BubblewrapBackend()) as backend:
        with backend.open(World(), SMALL):
            pass
        gc.collect()  # what earlier tests let go of
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(20):
            with backend.open(World(), SMALL) as sandbox:
                sandbox.run("sleep 100 &", timeout=10)
        assert len(list(Path("/proc/self/fd").iterdir())) == before
        if backend.cgroups:
            for folder in backend.cgroups.folders.values():
                assert [path.name for path in folder.iterdir() if path.is_dir()] == ["agents"]
            folders = list(backend.cgroups.folders.values())
        else:
            folders = []
        assert backend._launcher._process is not None
        children = Path(f"/proc/{backend._launcher._process.pid}/task/{backend._launcher._process.pid}/children")
        deadline = time.monotonic() + 5
        while len(children.read_text().split()) > 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(children.read_text().split()) <= 1  # the one that waits for the next request
    assert not any(folder.exists() for folder in folders)


def test_limits_of_a_group_are_read_back() -> None:
    found = cgroups.find()
    if found is None:
        pytest.skip("this user may not make control groups")
    with contextlib.closing(found):
        limits = Limits(memory_bytes=1 << 27, processes=7, cpus=0.5)
        group = found.create(limits)
        with contextlib.closing(group), subprocess.Popen(["sleep", "60"]) as process:
            try:
                assert not group.holds(process.pid)
                for folder in group.folders:
                    (folder / "cgroup.procs").write_text(str(process.pid))
                assert group.holds(process.pid)
                assert found.mismatch(group, limits) == ""
                assert found.mismatch(group, Limits(memory_bytes=1 << 28)) != ""
            finally:
                process.kill()


def test_groups_of_the_dead_are_removed_and_our_own_remade() -> None:
    found = cgroups.find()
    if found is None:
        pytest.skip("this user may not make control groups")
    with contextlib.closing(found):
        folder = found.folders["memory"]
        dead = f"{owners.PREFIX}{2**22 + 1}-1"  # no process has so high a number
        left = folder.with_name(f"{dead}.{owners.namespace()}.0")
        (left / "0").mkdir(parents=True)
        foreign = folder.with_name(f"{dead}.1.0")  # of another pid namespace: it may be live
        foreign.mkdir()
        (folder / "agents").rmdir()
        folder.rmdir()
        with contextlib.closing(found.create(SMALL)) as group:
            assert all(path.exists() for path in group.folders)
            other = cgroups.find()
            assert other is not None and folder.exists() and not left.exists()
            foreign.rmdir()
            other.close()
            assert folder.exists()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"", "its agent is gone"),
        (b"\0\0\0\3partial", "its agent is gone"),
        (b"\xff\xff\xff\xff" + bytes(100), "a message of 4294967295 parts"),
        (messages.COUNT.pack(1) + messages.LENGTH.pack(1 << 60), "a message of 1152921504606846976 bytes"),
        (messages.pack([b"done", b"short", b"", b""]), "the sandbox died"),
        (messages.pack([b"done"]), "the sandbox died"),
        (messages.pack([]), "the sandbox died"),
        (messages.pack([b"unheard of", b"", b""]), "the sandbox died"),
    ],
)
def test_an_agent_that_were_taken_over_could_only_end_its_sandbox(answer: bytes, message: str) -> None:
    with subprocess.Popen(["sleep", "60"]) as stand_in:
        ours, theirs = socket.socketpair()
        sandbox: Sandbox = BubblewrapSandbox(ours, Hello(stand_in.pid, 1), {}, SMALL, None)
        theirs.sendall(answer)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(SandboxError, match=message):
            sandbox.run("true", timeout=5)
        assert stand_in.wait(10) == -signal.SIGKILL
        theirs.close()
