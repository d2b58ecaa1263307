"""What hostile code tries, and what it gets. Each test would succeed for the attacker on the bare host."""

import os
import socket
from collections.abc import Iterator

import pytest

from selfplay.sandbox import MIB, Backend, Limits, Sandbox, World

from .attacks import SMALL, python, tries


def test_processes_are_limited_for_each_sandbox_alone(backend: Backend) -> None:
    count = "import os\nn = 0\ntry:\n while n < 200:\n  if os.fork() == 0: os.read(os.pipe()[0], 1)\n  n += 1\n"
    count += "except OSError: pass\nprint(n)"
    with backend.open(World(), SMALL) as one, backend.open(World(), SMALL) as two:
        # The command itself is one of the 40.
        assert [python(box, count).stdout for box in (one, two)] == [b"39\n", b"39\n"]


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


INTERFACES = "print([line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line])"


def test_no_world_has_a_network(sandbox: Sandbox) -> None:
    """Nor can one be asked for: a build's way out is a socket of ours.

    See tests/repository/test_egress_builds_hostile.py."""
    with pytest.raises(TypeError):
        World(network=True)  # type: ignore[call-arg]
    assert python(sandbox, INTERFACES).stdout == b"['lo']\n"
    assert sandbox.read_file("/etc/resolv.conf") == b""


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
    assert python(sandbox, code).stdout.split() == [b"1", b"2", b"10"]  # unix, inet, inet6


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


@pytest.mark.slow
def test_a_full_disk_and_no_processes_left_do_not_stop_the_next_command(backend: Backend) -> None:
    with backend.open(World(), Limits(disk_bytes=MIB, processes=4, memory_bytes=128 * MIB)) as sandbox:
        sandbox.run("cat /dev/zero > fill; sleep 9 & sleep 9 & sleep 9 & sleep 9 & sleep 9 & wait", timeout=1)
        assert sandbox.run("echo alive", timeout=10).stdout == b"alive\n"
