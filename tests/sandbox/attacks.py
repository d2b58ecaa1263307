"""What hostile code tries. Each attack asserts what it got, and returns it in words for the table in `docs/abuse.md`.

Every one of them would succeed on the bare host.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from selfplay.sandbox import MIB, Completed, InsideError, Limits, Sandbox

SMALL = Limits(memory_bytes=256 * MIB, disk_bytes=32 * MIB, processes=40, output_bytes=64 * 1024)
DEADLINE = 0.8
LATE = 5.0
"""Seconds after a deadline in which a sandbox must have answered: what held an agent cost more, and load costs less."""
ENOSPC = 28
CALL = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    result = getattr(libc, name)(*arguments)
    return os.strerror(ctypes.get_errno()) if result == -1 else "open"
"""


@dataclass(frozen=True)
class Attack:
    """`limit`: what must be limited for a whole sandbox (a backend's `enforcement` says what is), lest the attack take
    all that the machine has."""

    name: str
    run: Callable[[Sandbox], str]
    limit: str = ""


def python(sandbox: Sandbox, code: str, timeout: float = 20) -> Completed:
    return sandbox.run(["python3", "-c", code], timeout=timeout)


def tries(sandbox: Sandbox, *attempts: str) -> list[str]:
    """What each Python expression gives inside, with `call(name, ...)` for C library functions."""
    done = python(sandbox, CALL + "\n".join(f"print({attempt}, flush=True)" for attempt in attempts))
    assert done.exit_code == 0, done.text
    return done.stdout.decode().splitlines()


def running(sandbox: Sandbox) -> int:
    """Processes inside beside the agent and the counting shell."""
    return int(sandbox.run("set -- /proc/[0-9]*; echo $(($# - 2))", timeout=10).stdout)


def fork_bomb(sandbox: Sandbox) -> str:
    done = sandbox.run(":() { : | : & }; :", timeout=DEADLINE)
    assert done.seconds < 10
    done = sandbox.run("while true; do (sleep 100 &) ; done", timeout=DEADLINE)
    assert done.timed_out and running(sandbox) == 0
    return "held to 40 processes, all killed"


def daemons(sandbox: Sandbox) -> str:
    code = "import os, time\nfor _ in range(20):\n if os.fork() == 0:\n  os.setsid()\n  if os.fork(): os._exit(0)\n"
    done = python(sandbox, code + "  time.sleep(100)\nprint('left')")
    assert done.stdout == b"left\n" and done.seconds < 10 and running(sandbox) == 0
    return "killed when their command returned"


def ignored_signals(sandbox: Sandbox) -> str:
    code = "import signal, time\nfor n in set(signal.Signals) - {9, 19}: signal.signal(n, signal.SIG_IGN)\n"
    done = python(sandbox, code + "print('begun', flush=True)\nwhile True: time.sleep(1)", timeout=DEADLINE)
    assert done.timed_out and done.exit_code == -9 and done.stdout == b"begun\n" and running(sandbox) == 0
    return "killed at the deadline"


def memory(sandbox: Sandbox) -> str:
    done = python(sandbox, "x = bytearray(10**9)\nprint('got it')")
    assert done.exit_code != 0 and b"got it" not in done.stdout
    assert python(sandbox, "x = bytearray(10**8)\nprint('got it')").stdout == b"got it\n"
    return "refused beyond 256 MiB, the sandbox lives on"


def memory_of_many(sandbox: Sandbox) -> str:
    code = "import os, time\nfor n in range(30):\n if os.fork() == 0:\n  x = bytearray(2 * 10**7)\n  time.sleep(100)\n"
    done = python(sandbox, code + "print(os.wait()[1])")  # 600 MB; the first to end is killed, so the wait ends
    assert done.stdout in (b"9\n", b"") and done.seconds < 10 and running(sandbox) == 0
    return "killed by the kernel, the sandbox lives on"


def flood(sandbox: Sandbox) -> str:
    done = sandbox.run("head -c 1G /dev/zero; echo end >&2", timeout=60)
    assert done.exit_code == 0 and done.truncated and done.stderr == b"end\n"
    assert len(done.stdout) < SMALL.output_bytes + 100
    peak = sandbox.run("grep VmHWM /proc/1/status", timeout=10).stdout.split()[1]
    assert int(peak) < 40 * 1024  # KiB, of the agent
    return "1 GiB written, 64 KiB kept, agent under 40 MiB"


def one_file(sandbox: Sandbox) -> str:
    for place in ("/testbed", "/tmp", "/dev/shm", "$HOME"):
        done = sandbox.run(f"cat /dev/zero > {place}/big; stat -c %s {place}/big; rm {place}/big", timeout=30)
        assert 0 < int(done.stdout) <= SMALL.disk_bytes, place
    with pytest.raises(InsideError, match=r"disk is full: writing more(.|\n)*32 MiB together"):
        sandbox.write_file("more", bytes(40 * MIB))
    assert sandbox.run("rm more; echo ok > /testbed/file; cat /testbed/file", timeout=10).stdout == b"ok\n"
    return "no space left within 32 MiB"


def many_files(sandbox: Sandbox) -> str:
    fill = """
import os
written, full = 0, set()
places = ["/testbed", "/tmp", "/dev/shm", os.environ["HOME"]]
for n in range(10**6):
    place = places[n % 4]
    if len(full) == 4: break
    try:
        with open(f"{place}/{n}", "wb") as f: f.write(bytes(65536))
        written += 65536
    except OSError as error:
        full.add(place)
        number = error.errno
print(number, written)
"""
    number, written = python(sandbox, fill, timeout=60).stdout.split()
    assert int(number) == ENOSPC and int(written) <= SMALL.disk_bytes
    return "no space left within 32 MiB for all places together"


def inodes(sandbox: Sandbox) -> str:
    fill = "import os\nn = 0\ntry:\n while n < 10**6:\n  os.mknod(f'/testbed/{n}'); n += 1\n"
    number, made = python(sandbox, fill + "except OSError as error: print(error.errno, n)", timeout=60).stdout.split()
    assert int(number) == ENOSPC and int(made) <= SMALL.disk_bytes // 4096
    return "no space left within one file for each 4 KiB"


ATTACKS = (
    Attack("fork bomb", fork_bomb),
    Attack("double-forked daemons", daemons),
    Attack("every signal ignored", ignored_signals),
    Attack("memory, one process", memory),
    Attack("memory, many processes", memory_of_many, "memory"),
    Attack("output flood", flood),
    Attack("disk fill, one file", one_file),
    Attack("disk fill, many files", many_files),
    Attack("inode fill", inodes),
)
