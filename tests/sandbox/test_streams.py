"""A command's whole output as a stream, and writable folders on the sandbox's own disk."""

import itertools
import re
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from selfplay.sandbox import (
    MIB,
    Backend,
    Cause,
    Completed,
    InsideError,
    Limits,
    Sandbox,
    SandboxError,
    World,
    kill_detection,
)
from selfplay.sandbox.admission import Lease
from selfplay.sandbox.kill_detection import ProgramKilled

from .attacks import SMALL

GIB = 1024 * MIB


def test_a_stream_is_whole_and_longer_than_what_is_kept_of_a_command(sandbox: Sandbox) -> None:
    with sandbox.stream("seq 1 300000; echo no >&2", timeout=30) as stream:
        data = stream.read()
    assert data == b"".join(b"%d\n" % number for number in range(1, 300001))
    assert sandbox.run("echo next", timeout=10).stdout == b"next\n"


def test_the_environment_and_the_argv_of_a_streamed_command(sandbox: Sandbox) -> None:
    with sandbox.stream(["bash", "-c", 'printf %s "$HERE:$0"', "a b"], timeout=10, env={"HERE": "x y"}) as stream:
        assert stream.read() == b"x y:a b"


def test_a_failed_command_is_an_error_after_its_last_byte(sandbox: Sandbox) -> None:
    with (
        pytest.raises(InsideError, match=r"exited 3: why it failed"),
        sandbox.stream("printf abc; echo why it failed >&2; exit 3", timeout=10) as stream,
    ):
        assert stream.read(3) == b"abc"
        stream.read()
    assert sandbox.run("echo next", timeout=10).stdout == b"next\n"


@pytest.mark.parametrize("program", ["/no/such/program", "/etc"])
def test_a_program_that_cannot_run_is_an_error(sandbox: Sandbox, program: str) -> None:
    with pytest.raises(InsideError, match=r"exited 12[67]"), sandbox.stream([program], timeout=10) as stream:
        stream.read()


def test_leaving_early_kills_the_command(sandbox: Sandbox) -> None:
    started = time.monotonic()
    with sandbox.stream("echo $$; sleep 60 & yes", timeout=60) as stream:
        assert re.fullmatch(rb"\d+\n", stream.readline())
    assert time.monotonic() - started < 5
    assert sandbox.run("pgrep -c 'yes|sleep' || true", timeout=10).stdout in (b"0\n", b"")


def test_an_error_of_the_reader_passes_and_the_sandbox_lives(sandbox: Sandbox) -> None:
    with pytest.raises(ZeroDivisionError), sandbox.stream("yes", timeout=60) as stream:
        stream.read(10)
        raise ZeroDivisionError
    assert sandbox.run("echo next", timeout=10).stdout == b"next\n"


def test_a_program_that_is_killed_while_it_streams_says_nothing(sandbox: Sandbox) -> None:
    """As one that runs: the kill is nobody's fault inside, and the work is done again."""
    with (
        pytest.raises(ProgramKilled, match="bash was killed in its sandbox"),
        sandbox.stream("kill -9 $$", timeout=9) as stream,
    ):
        stream.read()
    assert sandbox.run("echo next", timeout=10).stdout == b"next\n"


@pytest.mark.slow
def test_a_stream_ends_at_its_time_limit(sandbox: Sandbox) -> None:
    with (
        pytest.raises(ProgramKilled, match="did not get a core within 1 s"),
        sandbox.stream("echo first; sleep 60", timeout=1) as stream,
    ):
        stream.read()
    with (
        pytest.raises(InsideError, match="met its time limit"),
        sandbox.stream("for n in 1 2 3 4 5 6; do while :; do :; done & done; wait", timeout=2) as stream,
    ):
        stream.read()
    with (
        pytest.raises(ProgramKilled, match="did not get a core"),
        sandbox.stream("yes", timeout=1) as stream,
    ):
        stream.read(1)
        time.sleep(1.5)  # the reader waits, and with it the command
        while stream.read(MIB):
            pass
    assert sandbox.run("echo next", timeout=10).stdout == b"next\n"


def test_what_a_command_leaves_behind_does_not_hold_the_stream_open(sandbox: Sandbox) -> None:
    started = time.monotonic()
    with sandbox.stream("echo whole; sleep 30 & (sleep 0.2; exec 1>&-) & exit 0", timeout=30) as stream:
        assert stream.read() == b"whole\n"
    assert time.monotonic() - started < 5


def test_a_command_that_closes_its_output_is_waited_for(sandbox: Sandbox) -> None:
    with (
        pytest.raises(InsideError, match="exited 7"),
        sandbox.stream("exec 1>&-; sleep 0.3; exit 7", timeout=10) as stream,
    ):
        stream.read()


def test_no_other_command_runs_while_one_streams(sandbox: Sandbox) -> None:
    with sandbox.stream("yes", timeout=10) as stream:
        stream.read(1)
        with pytest.raises(SandboxError, match="is streaming its output"):
            sandbox.run("true", timeout=10)
        with pytest.raises(SandboxError, match="is streaming its output"), sandbox.stream("true", timeout=10):
            pass
    assert sandbox.run("echo next", timeout=10).stdout == b"next\n"


def test_closing_the_sandbox_ends_a_stream(backend: Backend) -> None:
    with backend.open(World(), SMALL) as sandbox:
        with pytest.raises(SandboxError), sandbox.stream("echo; sleep 60", timeout=60) as stream:
            threading.Timer(0.2, sandbox.close).start()
            stream.read()
        with pytest.raises(SandboxError):
            sandbox.run("true", timeout=10)


@pytest.mark.slow
def test_two_gigabytes_pass_in_flat_memory(sandbox: Sandbox) -> None:
    """2 GiB through a sandbox of 256 MiB: the agent holds one piece, and so does this process."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = 0
    with sandbox.stream("head -c 2147483648 /dev/zero", timeout=120) as stream:
        while piece := stream.read(MIB):
            size += len(piece)
    assert size == 2 * GIB
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 32 * 1024, f"this process grew by {grown} KiB"
    agent = sandbox.run("grep VmHWM /proc/1/status", timeout=10).stdout
    assert int(agent.split()[1]) < 48 * 1024, agent


def test_a_lease_streams(backend: Backend) -> None:
    with Lease(backend, SMALL).open(World(), SMALL) as sandbox, sandbox.stream("echo leased", timeout=10) as stream:
        assert stream.read() == b"leased\n"


def test_folders_are_empty_writable_and_gone_afterwards(backend: Backend, tree: Path) -> None:
    world = World(tree=(tree,), folders=("/env", "/opt/deep/place"))
    for _ in range(2):
        with backend.open(world, SMALL) as sandbox:
            assert sandbox.run("ls -A /env /opt/deep/place", timeout=10).stdout == b"/env:\n\n/opt/deep/place:\n"
            write = "cd /env && mkdir -p a/b && echo x > a/b/c && ln a/b/c a/d && cp /bin/true t && ./t && cat a/d"
            assert sandbox.run(write, timeout=10).stdout == b"x\n"
            assert sandbox.run("echo x > /opt/deep/place/y; echo x > /opt/deep/z", timeout=10).exit_code == 1
            assert sandbox.run("cat /opt/deep/place/y", timeout=10).stdout == b"x\n"


def test_folders_and_everything_else_share_one_limit(backend: Backend) -> None:
    limits = Limits(memory_bytes=256 * MIB, disk_bytes=16 * MIB)
    fill = "for place in /env /tools /testbed /tmp /dev/shm ~; do head -c 40M /dev/zero > $place/big; done; "
    sizes = "cat /env/big /tools/big /testbed/big /tmp/big /dev/shm/big ~/big | wc -c"
    with backend.open(World(folders=("/env", "/tools")), limits) as sandbox:
        done = sandbox.run(fill + sizes, timeout=30)
        assert b"No space left on device" in done.stderr
        assert 15 * MIB < int(done.stdout) <= 16 * MIB


@pytest.mark.parametrize("folders", [("env",), ("/a/../b",), ("/env", "/env")])
def test_a_folder_that_cannot_be_is_named(backend: Backend, folders: tuple[str, ...]) -> None:
    with pytest.raises(SandboxError, match="is not an absolute path"), backend.open(World(folders=folders)):
        pass


HELD_OPEN = """
import os
from selfplay.sandbox.streams import Streams
streams = Streams(b"", 1000, False)
held = os.dup(streams.ends[1])
streams.handed_over()
os.write(held, b"kept")
streams.drain()
print(streams.out.kept())
"""


def test_draining_ends_where_a_pipe_s_end_stays_open_somewhere() -> None:
    """As one that lies in a message which nobody received. On the code before, this read for ever."""
    done = subprocess.run([sys.executable, "-c", HELD_OPEN], capture_output=True, timeout=30)
    assert done.stdout == b"b'kept'\n", done.stderr


@pytest.mark.parametrize(
    ("spare", "used", "cause"), [(1, 0.01, Cause.LIMIT), (0.3, 0.01, Cause.UNKNOWN), (1, 6.0, Cause.UNKNOWN)]
)
def test_who_waits_where_a_core_is_to_be_had_has_met_a_limit(
    monkeypatch: pytest.MonkeyPatch, spare: float, used: float, cause: Cause
) -> None:
    """A suite left a pipe in the place of a file that we read: it was the machine's doing, eight times over. What had
    computed, or is on a machine that gives this thread less than half a core, may have got none."""
    clock = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(clock) / 1000)
    monkeypatch.setattr(time, "thread_time", lambda: next(clock) / 1000 * spare)
    with pytest.raises(ProgramKilled, match="cat did not get a core within 30 s") as told:
        kill_detection.undisturbed(Completed(124, b"", b"", True, False, 30.0, used), "cat", 30)
    assert told.value.cause is cause
