"""What hostile code tries, and what it gets. Each test would succeed for the attacker on the bare host."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfplay.sandbox import MIB, Backend, Limits, Sandbox, SandboxError, World

from .conftest import SMALL, python
from .test_commands import running

CALL = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    result = getattr(libc, name)(*arguments)
    return os.strerror(ctypes.get_errno()) if result == -1 else "open"
"""


def tries(sandbox: Sandbox, *attempts: str) -> list[str]:
    """What each Python expression gives inside, with `call(name, ...)` for C library functions."""
    done = python(sandbox, CALL + "\n".join(f"print({attempt}, flush=True)" for attempt in attempts))
    assert done.exit_code == 0, done.text
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize("bomb", [":() { : | : & }; :", "while true; do (sleep 100 &) ; done"])
def test_a_fork_bomb_is_bounded_and_ends(sandbox: Sandbox, bomb: str) -> None:
    done = sandbox.run(bomb, timeout=2)
    assert done.seconds < 20
    assert running(sandbox) == 0
    assert sandbox.run("echo alive", timeout=10).stdout == b"alive\n"


def test_processes_are_limited_for_each_sandbox_alone(backend: Backend) -> None:
    count = "import os\nn = 0\ntry:\n while n < 200:\n  if os.fork() == 0: os.read(os.pipe()[0], 1)\n  n += 1\n"
    count += "except OSError: pass\nprint(n)"
    with backend.open(World(), SMALL) as one, backend.open(World(), SMALL) as two:
        # The command itself is one of the 40.
        assert [python(box, count).stdout for box in (one, two)] == [b"39\n", b"39\n"]


def test_memory_is_bounded_and_the_sandbox_survives(sandbox: Sandbox) -> None:
    done = python(sandbox, "x = bytearray(10**9)\nprint('got it')")
    assert done.exit_code != 0 and b"got it" not in done.stdout
    assert python(sandbox, "x = bytearray(10**8)\nprint('got it')").stdout == b"got it\n"


def test_a_flood_of_output_costs_no_memory(sandbox: Sandbox) -> None:
    done = sandbox.run("head -c 1G /dev/zero; echo end >&2", timeout=60)
    assert done.exit_code == 0 and done.truncated and done.stderr == b"end\n"
    assert len(done.stdout) < SMALL.output_bytes + 100
    peak = sandbox.run("grep VmHWM /proc/1/status", timeout=10).stdout.split()[1]
    assert int(peak) < 40 * 1024  # KiB, of the agent


@pytest.mark.parametrize("place", ["/testbed", "/tmp", "/dev/shm", "$HOME"])
def test_one_file_cannot_fill_more_than_the_disk(sandbox: Sandbox, place: str) -> None:
    done = sandbox.run(f"cat /dev/zero > {place}/big; stat -c %s {place}/big", timeout=30)
    assert 0 < int(done.stdout) <= SMALL.disk_bytes
    with pytest.raises(SandboxError, match=r"disk is full: writing more(.|\n)*32 MiB together"):
        sandbox.write_file("more", bytes(40 * MIB))
    assert sandbox.run(f"rm {place}/big more; echo ok > /testbed/file; cat /testbed/file", timeout=10).stdout == b"ok\n"


def test_many_files_share_one_disk(sandbox: Sandbox) -> None:
    fill = """
import os, itertools
places = ["/testbed", "/tmp", "/dev/shm", os.environ["HOME"]]
written = 0
try:
    for n in itertools.count():
        with open(f"{places[n % 4]}/{n}", "wb") as f: f.write(bytes(65536))
        written += 65536
except OSError as error:
    print(error.errno, written)
"""
    number, written = python(sandbox, fill, timeout=60).stdout.split()
    assert int(number) == 28  # ENOSPC
    assert int(written) <= SMALL.disk_bytes


@pytest.fixture
def listeners() -> Iterator[tuple[int, str]]:
    """A loopback port and an abstract socket of the host."""
    with socket.socket() as loopback, socket.socket(socket.AF_UNIX) as abstract:
        loopback.bind(("127.0.0.1", 0))
        loopback.listen()
        name = f"selfplay-test-{os.getpid()}"
        abstract.bind("\0" + name)
        abstract.listen()
        yield loopback.getsockname()[1], name


def connects(port: int, name: str) -> tuple[str, str]:
    socket_of = "__import__('socket').socket"
    return (
        f"{socket_of}().connect_ex(('127.0.0.1', {port}))",
        f"{socket_of}(1).connect_ex(chr(0) + {name!r})",
    )


def test_no_network_leads_out(sandbox: Sandbox, listeners: tuple[int, str]) -> None:
    refused = 111
    assert tries(sandbox, *connects(*listeners)) == [str(refused)] * 2
    assert sandbox.run("grep -c : /proc/net/dev", timeout=10).stdout == b"1\n"  # lo
    unreachable = "__import__('socket').socket().connect_ex(('192.0.2.1', 80))"
    assert tries(sandbox, unreachable) == ["101"]  # ENETUNREACH


def test_the_network_switch(backend: Backend, listeners: tuple[int, str]) -> None:
    with backend.open(World(network=True), SMALL) as sandbox:
        assert tries(sandbox, connects(*listeners)[0]) == ["0"]
        assert tries(sandbox, "call('unshare', 0x10000000)") == ["Operation not permitted"]
        if Path("/etc/resolv.conf").exists():
            assert sandbox.read_file("/etc/resolv.conf") == Path("/etc/resolv.conf").read_bytes()


def test_loopback_inside_works(sandbox: Sandbox) -> None:
    code = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b"hello")
print(client.recv(5), socket.gethostbyname("localhost"), socket.gethostname())
"""
    assert python(sandbox, code).stdout == b"b'hello' 127.0.0.1 sandbox\n"


def test_other_socket_families_are_refused(sandbox: Sandbox) -> None:
    code = """
import socket
for family in range(45):
    try:
        socket.socket(family, socket.SOCK_DGRAM).close()
        print(family, end=" ")
    except OSError:
        pass
"""
    assert python(sandbox, code).stdout.split() == [b"1", b"2", b"10", b"16"]  # unix, inet, inet6, netlink


def test_the_hosts_secrets_are_not_there(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    for path in (secret, Path.home() / ".ssh", Path.home() / ".netrc", Path("/etc/shadow"), Path("/run/docker.sock")):
        assert sandbox.run(["test", "-e", str(path)], timeout=10).exit_code == 1, path
    assert sandbox.run("ls -A /sys 2>/dev/null; ls -A /run/user 2>/dev/null", timeout=10).stdout == b""
    assert sandbox.run("ls -A $HOME /tmp /dev/shm | grep -v :", timeout=10).stdout.split() == []
    assert sandbox.run("cut -d: -f1 /etc/passwd; id -un", timeout=10).stdout.split() == [
        *(b"root", b"sandbox", b"nobody"),
        b"sandbox",
    ]


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/vm/drop_caches",
            "/proc/sysrq-trigger",
            "/proc/sys/kernel/hostname",
        ),
        *("/etc/passwd", "/etc/ld.so.cache", "/usr/bin/env", "/usr/new", "/new", "/dev/new", "/bin/new", "/home/new"),
        *("/proc/1/mem", "/proc/1/environ", "/proc/1/fd/0", "/proc/1/oom_score_adj"),
    ],
)
def test_what_is_not_ours_is_not_writable(sandbox: Sandbox, path: str) -> None:
    assert sandbox.run(f"exec 3>>{path}", timeout=10).exit_code == 1


def test_kernel_interfaces_are_closed(sandbox: Sandbox) -> None:
    attempts = {
        "ptrace": "call('ptrace', 0, 0, 0, 0)",
        "process memory": "call('process_vm_readv', 1, 0, 0, 0, 0, 0)",
        "user namespace": "call('unshare', 0x10000000)",
        "mount namespace": "call('unshare', 0x20000)",
        "setns": "call('setns', 0, 0)",
        "mount": "call('mount', b'none', b'/tmp', b'tmpfs', 0, None)",
        "umount": "call('umount2', b'/tmp', 2)",
        "chroot": "call('chroot', b'/tmp')",
        "open_tree": "call('syscall', 428, -100, b'/', 0)",
        "io_uring": "call('syscall', 425, 8, None)",
        "pidfd_getfd": "call('syscall', 438, 0, 0, 0)",
        "limits of the agent": "call('prlimit', 1, 7, (ctypes.c_ulong * 2)(1, 1), None)",
        "reboot": "call('reboot', 0)",
        "swap": "call('swapoff', b'/tmp')",
        "clock": "call('clock_settime', 0, (ctypes.c_long * 2)(1, 1))",
    }
    answers = dict(zip(attempts, tries(sandbox, *attempts.values()), strict=True))
    assert {name for name, answer in answers.items() if answer != "Operation not permitted"} == set()
    # A new process in a new user namespace, whichever way: clone3 is "not there", so that libraries fall back.
    assert tries(sandbox, "call('syscall', 435, None, 0)") == ["Function not implemented"]


def test_there_is_nothing_to_gain_from_setuid_programs(sandbox: Sandbox) -> None:
    status = sandbox.run("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | tr -s '\\t ' ' '", timeout=10).stdout
    zero = b" 0000000000000000\n"
    expected = b"".join(name + zero for name in (b"CapInh:", b"CapPrm:", b"CapEff:", b"CapBnd:", b"CapAmb:"))
    assert status == expected + b"NoNewPrivs: 1\nSeccomp: 2\n"
    for place in ("/testbed", "/tmp", "/dev/shm", "/home/sandbox"):
        options = sandbox.run(f"grep ' {place} ' /proc/mounts | cut -d' ' -f4", timeout=10).stdout.strip().split(b",")
        assert {b"rw", b"nosuid", b"nodev"} <= set(options), place


def test_the_agent_cannot_be_killed_stopped_or_impersonated(sandbox: Sandbox) -> None:
    sandbox.run("for s in TERM INT HUP QUIT KILL STOP TSTP USR1 SEGV; do kill -$s 1; done", timeout=10)
    forged = r"printf '\0\0\0\3%0100d' 0"
    attempts = f"for n in 0 1 2 3 4 5 6 7 8 9; do {forged} > /proc/1/fd/$n; {forged} >&$n; done; cat /proc/1/maps"
    assert b"Permission denied" in sandbox.run(attempts, timeout=10).stderr
    done = sandbox.run("echo alive; exit 5", timeout=10)
    assert (done.stdout, done.exit_code) == (b"alive\n", 5)


def test_a_full_disk_and_no_processes_left_do_not_stop_the_next_command(backend: Backend) -> None:
    with backend.open(World(), Limits(disk_bytes=MIB, processes=4, memory_bytes=128 * MIB)) as sandbox:
        sandbox.run("cat /dev/zero > fill; sleep 9 & sleep 9 & sleep 9 & sleep 9 & sleep 9 & wait", timeout=1)
        assert sandbox.run("echo alive", timeout=10).stdout == b"alive\n"
