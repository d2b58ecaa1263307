"""Attacks on what sandboxes share with each other and with the machine: memory that is no process's, counts, time."""

import time
from collections.abc import Callable

import pytest

from selfplay.sandbox import MIB, Cause, Sandbox, SandboxLost

from .attacks import DEADLINE, LATE, SMALL, Attack, python, running
from .test_lost import BUSY, FILLS, LOWERED, SOCKETS
from .test_neighbours import START

UNACCEPTED = """
import socket, struct, sys
kept, reset = [], struct.pack("ii", 1, 0)
while True:
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    if server.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) > 1 << 17:
        sys.exit("it may receive megabytes")
    server.bind(("127.0.0.1", 0))
    server.listen(4096)
    kept.append(server)
    for _ in range(4000):
        with socket.create_connection(server.getsockname()) as one:
            one.send(bytes(10_000))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
"""
ENDED = "its own sandbox ended, and that is typed as its limit"
"""For want of memory what Docker gives where bubblewrap's agent lives on: there it shares its commands' group."""


def fills(how: str) -> Callable[[Sandbox], str]:
    """Memory of no process, by a command that gave up its place at the head of the out-of-memory queue."""

    def run(sandbox: Sandbox) -> str:
        try:
            done = sandbox.run(["python3", "-S", "-c", LOWERED + FILLS[how]], timeout=20)
        except SandboxLost as lost:
            assert lost.cause == Cause.LIMIT
            return ENDED
        assert done.exit_code == -9 and not done.timed_out
        return "killed by the kernel, the agent lives on"

    return run


def socket_buffers(kind: str) -> Callable[[Sandbox], str]:
    def run(sandbox: Sandbox) -> str:
        done = sandbox.run(["python3", "-S", "-c", SOCKETS, kind], timeout=60)
        assert done.exit_code == 0 and int(done.stdout) * 4096 < SMALL.socket_bytes + 32 * MIB, done.text
        return "held to an eighth of the memory"

    return run


def counted(what: str, most: int) -> Callable[[Sandbox], str]:
    """Take all there is of something the kernel counts per user."""
    count = "\ncount = 0\ntry:\n while count < 10**5:\n  WHAT()\n  count += 1\n"
    count += "except (OSError, AssertionError): pass\nprint(count)"

    def run(sandbox: Sandbox) -> str:
        done = python(sandbox, START + count.replace("WHAT", what), timeout=60)
        assert 0 < int(done.stdout) <= most, done.text
        return f"held to {most}"

    return run


def descriptors(sandbox: Sandbox) -> str:
    code = "import os\nn = 0\ntry:\n while n < 10**5: os.open('/', 0); n += 1\nexcept OSError as e: print(n, e.errno)"
    number, why = python(sandbox, code).stdout.split()
    assert int(number) < 4096 and why == b"24"
    return "held to 4096 for each process"


def locked(sandbox: Sandbox) -> str:
    code = "import ctypes\nb = ctypes.create_string_buffer(1 << 22)\nprint(ctypes.CDLL(None).mlock(b, 1 << 22))"
    assert python(sandbox, code).stdout == b"-1\n"
    return "refused beyond 1 MiB"


def unaccepted(sandbox: Sandbox) -> str:
    """Connections that nobody accepts: they are no process's, and neither they nor what they receive is any group's."""
    with pytest.raises(SandboxLost, match="more sockets than a sandbox may have") as lost:
        python(sandbox, UNACCEPTED, timeout=60)
    assert lost.value.cause is Cause.LIMIT
    return ENDED


def threads(sandbox: Sandbox) -> str:
    code = "import threading, time\nn = 0\ntry:\n while n < 500:\n"
    code += "  threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); n += 1\n"
    done = python(sandbox, code + "except RuntimeError: print(n, flush=True)\nimport os\nos._exit(0)")
    assert int(done.stdout) < SMALL.processes and running(sandbox) == 0
    return "held to 40 processes, all killed"


def deep_folders(sandbox: Sandbox) -> str:
    code = (
        "import os\nn = 0\ntry:\n while n < 20000: os.mkdir('d'); os.chdir('d'); n += 1\nexcept OSError: pass\nprint(n)"
    )
    assert int(python(sandbox, code, timeout=60).stdout) > 1000
    return "gone with its sandbox"


def sparse_files(sandbox: Sandbox) -> str:
    done = sandbox.run("truncate -s 1T big; stat -c %s big; fallocate -l 1G more; ls -s", timeout=20)
    assert done.stderr.count(b"File size limit exceeded") == 2 and done.stdout.startswith(b"0\n")
    return "no file beyond 32 MiB"


def long_arguments(sandbox: Sandbox) -> str:
    code = "import os\ntry: os.execv('/bin/true', ['x'] * 10**6 + ['y' * 10**5] * 100)\n"
    done = python(sandbox, code + "except OSError as e: print(e.errno)")
    assert done.stdout == b"7\n"
    return "refused by the kernel"


def busy(sandbox: Sandbox) -> str:
    started = time.monotonic()
    assert sandbox.run(BUSY, timeout=DEADLINE).timed_out and time.monotonic() - started < DEADLINE + LATE
    return "killed at the deadline"


def stopped(sandbox: Sandbox) -> str:
    done = sandbox.run("kill -STOP $$; echo on", timeout=DEADLINE)
    assert done.timed_out and running(sandbox) == 0
    return "killed at the deadline"


def uninterruptible(sandbox: Sandbox) -> str:
    code = "import ctypes, time\nlibc = ctypes.CDLL(None)\nif libc.vfork() == 0: time.sleep(100)"
    done = python(sandbox, code, timeout=DEADLINE)
    assert (done.timed_out or done.exit_code != 0) and running(sandbox) == 0
    return "killed at the deadline"


def idle_itself(sandbox: Sandbox) -> str:
    code = "import os\nos.nice(19); os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\n"
    code += "print('idle', flush=True)\n"
    started = time.monotonic()
    done = python(sandbox, code + "while True: pass", timeout=2)
    assert done.timed_out and done.stdout == b"idle\n" and time.monotonic() - started < 2 + LATE
    return "slows itself alone, killed at the deadline"


GREED = (
    *(Attack(f"memory that is no process's: {how}", fills(how), "memory") for how in ("memory files", "shared memory")),
    *(Attack(f"{kind.upper()} buffers", socket_buffers(kind), "sockets") for kind in ("tcp", "udp")),
    Attack("connections that nobody accepts", unaccepted),
    Attack("descriptors in flight", counted("flight", 4096 // 250 + 2)),
    Attack("timers", counted("timer", 1024)),
    Attack("pending signals", counted("pending", 1024)),
    Attack("inotify instances", counted("watch", 128)),
    Attack("message queues", counted("queue", 3)),
    Attack("descriptors", descriptors),
    Attack("locked memory", locked),
    Attack("threads", threads),
    Attack("folders 20,000 deep", deep_folders),
    Attack("sparse files", sparse_files),
    Attack("arguments of a hundred megabytes", long_arguments),
    Attack("busy processes", busy),
    Attack("a command that stops itself", stopped),
    Attack("a command that waits for its child", uninterruptible),
    Attack("idle priority", idle_itself),
)
