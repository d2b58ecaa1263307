"""What `Sandbox.run` means: codes, streams, folders, environments, time."""

import hashlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from selfplay.sandbox import Backend, InsideError, Limits, Sandbox, World

from .attacks import SMALL, python, running


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("exit 0", 0),
        ("exit 3", 3),
        (["sh", "-c", "exit 255"], 255),
        ("kill -TERM $$", -15),
        ("kill -KILL $$", -9),
        ("kill -SEGV $$", -11),
        (["true"], 0),
        (["no-such-program"], 127),
        (["/etc/passwd"], 126),
        (["/testbed"], 126),
    ],
)
def test_exit_codes(sandbox: Sandbox, command: str | list[str], code: int) -> None:
    assert sandbox.run(command, timeout=10).exit_code == code


def test_a_program_or_folder_that_is_not_there_is_named(sandbox: Sandbox) -> None:
    assert sandbox.run(["no-such-program"], timeout=10).stderr == b"no-such-program: No such file or directory\n"
    missing = sandbox.run(["true"], timeout=10, cwd="/no/such/folder")
    assert (missing.exit_code, missing.stderr) == (127, b"/no/such/folder: No such file or directory\n")


def test_a_string_is_a_bash_command_and_a_sequence_is_not(sandbox: Sandbox) -> None:
    assert sandbox.run("echo {a,b} $((1 + 1))", timeout=10).stdout == b"a b 2\n"
    assert sandbox.run(["echo", "{a,b}", "$HOME", "a b"], timeout=10).stdout == b"{a,b} $HOME a b\n"


def test_streams_are_separate_or_merged_in_order(sandbox: Sandbox) -> None:
    command = "echo one; echo two >&2; echo three"
    apart = sandbox.run(command, timeout=10)
    assert (apart.stdout, apart.stderr) == (b"one\nthree\n", b"two\n")
    merged = sandbox.run(command, timeout=10, merge_stderr=True)
    assert (merged.stdout, merged.stderr) == (b"one\ntwo\nthree\n", b"")


def test_binary_and_unicode_pass_both_ways(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * 8192  # 2 MiB, over every pipe's buffer and every stream's cap but sha256sum's
    done = sandbox.run("sha256sum", stdin=data, timeout=20)
    assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()
    assert sandbox.run(["cat"], stdin=b"\0\xff\r\n", timeout=10).stdout == b"\0\xff\r\n"
    assert sandbox.run(["echo", "größe 鼠 \udcff"], timeout=10).stdout == "größe 鼠 ".encode() + b"\xff\n"


def test_stdin_nobody_reads_and_stdin_that_is_empty(sandbox: Sandbox) -> None:
    assert sandbox.run("true", stdin=b"x" * (1 << 20), timeout=10).exit_code == 0
    assert sandbox.run(["cat"], timeout=10).stdout == b""
    assert sandbox.run("exec 0<&-; sleep 0.1; echo done", stdin=b"x" * (1 << 20), timeout=10).stdout == b"done\n"


def test_folder_environment_and_what_is_not_inherited(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_SECRET", "token")
    with backend.open(World(env={"A": "world", "B": "ü =x"}), SMALL) as sandbox:
        assert sandbox.run("pwd", timeout=10).stdout == b"/testbed\n"
        assert sandbox.run("pwd", timeout=10, cwd="/usr/lib").stdout == b"/usr/lib\n"
        done = sandbox.run("env -0", timeout=10, env={"A": "command"})
        seen = dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0") if entry)
        assert (seen["A"], seen["B"], seen["HOME"]) == ("command", "ü =x", "/home/sandbox")
        assert not {"HOST_SECRET", "SSH_AUTH_SOCK", "USER", "VIRTUAL_ENV"} & set(seen)
        assert sandbox.run(["tool"], timeout=10, env={"PATH": "/testbed"}).exit_code == 127
        sandbox.write_file("tool", b"#!/bin/sh\necho found\n", mode=0o755)
        assert sandbox.run(["tool"], timeout=10, env={"PATH": "/testbed"}).stdout == b"found\n"
        assert sandbox.run('echo "$A"', timeout=10).stdout == b"world\n"


def test_a_command_that_cannot_be_said_is_refused_and_the_sandbox_lives_on(sandbox: Sandbox) -> None:
    for command in ([], ["echo", "a\0b"], "echo \0"):
        with pytest.raises(InsideError, match="null byte"):
            sandbox.run(command, timeout=10)
    assert sandbox.run("echo alive", timeout=10).stdout == b"alive\n"


def test_files_stay_and_processes_do_not(sandbox: Sandbox) -> None:
    sandbox.run("echo kept > file; export GONE=1; cd /tmp; sleep 100 & setsid sleep 100 & disown -a", timeout=10)
    assert sandbox.run("cat file; pwd; echo ${GONE-unset}", timeout=10).stdout == b"kept\n/testbed\nunset\n"
    assert running(sandbox) == 0


def test_a_daemon_that_holds_the_output_open_does_not_hold_up_its_command(sandbox: Sandbox) -> None:
    started = time.monotonic()
    done = sandbox.run("(trap '' HUP TERM; sleep 100) & echo out", timeout=50)
    assert (done.stdout, done.exit_code, done.timed_out) == (b"out\n", 0, False)
    assert time.monotonic() - started < 10


STUBBORN = """
import os, signal, time
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        while True:
            time.sleep(1)
print("begun", flush=True)
time.sleep(100)
"""


@pytest.mark.slow
def test_a_timeout_kills_the_whole_tree_whatever_it_ignores(sandbox: Sandbox) -> None:
    done = python(sandbox, STUBBORN, timeout=2)
    assert done.timed_out and done.exit_code == -9
    assert done.stdout == b"begun\n"  # what came before the end is kept
    assert 2 <= done.seconds < 20
    assert running(sandbox) == 0
    assert sandbox.run("sleep 100 & kill -STOP $!; kill -STOP $$", timeout=0.3).timed_out
    assert running(sandbox) == 0


@pytest.mark.slow
def test_time_is_reported(sandbox: Sandbox) -> None:
    slept = sandbox.run("sleep 0.3", timeout=10)
    assert 0.3 <= slept.seconds < 10 and slept.cpu_seconds < 0.2
    busy = python(sandbox, "import os, time\nif os.fork(): os.wait()\nwhile time.process_time() < 0.3: pass")
    assert 0.6 <= busy.cpu_seconds < 2  # parent and child burn 0.3 s each


def test_long_output_keeps_head_and_tail(backend: Backend) -> None:
    with backend.open(World(), Limits(output_bytes=1000)) as sandbox:
        done = sandbox.run("seq 1 100000", timeout=20)
        head, left_out, tail = done.stdout.partition(b"\n[... 587895 bytes left out ...]\n")
        # 1..9: 9 x 2 bytes, 10..99: 90 x 3, 900 x 4, 9000 x 5, 90000 x 6, 100000: 7 bytes: 588895, less 1000 kept
        assert done.truncated and left_out and (len(head), len(tail)) == (500, 500)
        assert head.startswith(b"1\n2\n") and tail.endswith(b"99999\n100000\n")
        exact = sandbox.run("head -c 1000 /dev/zero", timeout=10)
        assert not exact.truncated and exact.stdout == bytes(1000)


def test_commands_of_many_threads_queue(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(lambda n: sandbox.run(f"echo {n}", timeout=20).stdout, range(40)))
    assert outputs == [f"{n}\n".encode() for n in range(40)]


@pytest.mark.slow
def test_many_sandboxes_of_many_threads(backend: Backend) -> None:
    def life(number: int) -> bytes:
        with backend.open(World(), SMALL) as sandbox:
            return sandbox.run(f"echo {number} > file; sleep 0.05; cat file", timeout=30).stdout

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(life, range(24))) == [f"{number}\n".encode() for number in range(24)]


def test_no_descriptor_of_ours_is_inherited(sandbox: Sandbox) -> None:
    code = "import os; print([n for n in range(3, 1000) if os.path.exists(f'/proc/self/fd/{n}')])"
    assert python(sandbox, code).stdout == b"[]\n"


STACKS = """
import resource
from selfplay.sandbox import agent
resource.setrlimit(resource.RLIMIT_STACK, ({soft}, resource.RLIM_INFINITY))
agent.restrict(0, 0, 1 << 30, {data}, 100)
print(*resource.getrlimit(resource.RLIMIT_STACK))
"""


@pytest.mark.parametrize("soft", [8 << 20, -1])
def test_a_stack_is_bounded_where_a_process_s_data_is(soft: int) -> None:
    """With a group all memory counts, and programs may ask for any stack. `soft` stays: threads get as much each."""
    for data, expected in ((0, [soft, -1]), (1 << 30, [soft if soft > 0 else 64 << 20, 64 << 20])):
        code = STACKS.format(soft=soft, data=data)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert [int(word) for word in done.stdout.split()] == expected
