"""What hostile code tries. Each attack asserts what it got, and returns it in words for the table in `docs/abuse.md`.

Every one of them would succeed on the bare host.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from selfplay.sandbox import MIB, Completed, Limits, Sandbox, SandboxError

SMALL = Limits(memory_bytes=256 * MIB, disk_bytes=32 * MIB, processes=40, output_bytes=64 * 1024)
DEADLINE = 0.8
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
    """`ends`: it takes its own sandbox down, so no further command is asked of it."""

    name: str
    run: Callable[[Sandbox], str]
    ends: bool = False


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
    with pytest.raises(SandboxError, match=r"disk is full: writing more(.|\n)*32 MiB together"):
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


def escapes(port: int, name: str) -> tuple[str, str, str]:
    socket_of = "__import__('socket').socket"
    return (
        f"{socket_of}().connect_ex(('127.0.0.1', {port}))",
        f"{socket_of}(1).connect_ex(chr(0) + {name!r})",
        f"{socket_of}().connect_ex(('192.0.2.1', 80))",
    )


def secrets(sandbox: Sandbox) -> str:
    home = Path.home()
    for path in (home, home / ".ssh", home / ".netrc", "/etc/shadow", "/run/docker.sock", "/var/run/docker.sock"):
        assert sandbox.run(["test", "-e", str(path)], timeout=10).exit_code == 1, path
    assert sandbox.run("ls -A $HOME /tmp /dev/shm | grep -v :; ls -A /sys 2>/dev/null", timeout=10).stdout.split() == []
    people = sandbox.run("cut -d: -f1 /etc/passwd; id -un", timeout=10).stdout.split()
    assert people == [b"root", b"sandbox", b"nobody", b"sandbox"]
    return "not there"


def kernel_settings(sandbox: Sandbox) -> str:
    for path in (
        *("/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger"),
        *("/proc/sys/kernel/hostname", "/proc/1/oom_score_adj", "/sys/kernel/uevent_helper"),
    ):
        assert sandbox.run(f"exec 3>>{path}", timeout=10).exit_code == 1, path
    return "not writable"


def debugging(sandbox: Sandbox) -> str:
    attempts = (
        *("call('ptrace', 0, 0, 0, 0)", "call('ptrace', 16, 1, 0, 0)", "call('process_vm_readv', 1, 0, 0, 0, 0, 0)"),
        *("call('syscall', 438, 0, 0, 0)", "call('syscall', 425, 8, None)"),  # pidfd_getfd, io_uring_setup
    )
    assert set(tries(sandbox, *attempts)) == {"Operation not permitted"}
    return "system calls refused"


def namespaces(sandbox: Sandbox) -> str:
    flags = (0x10000000, 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000)
    attempts = [f"call('unshare', {flag})" for flag in flags]
    attempts += ["call('setns', 0, 0)", "call('mount', b'none', b'/tmp', b'tmpfs', 0, None)", "call('chroot', b'/tmp')"]
    assert set(tries(sandbox, *attempts)) == {"Operation not permitted"}
    assert sandbox.run("unshare -Ur true", timeout=10).exit_code != 0
    assert tries(sandbox, "call('syscall', 435, None, 0)") == ["Function not implemented"]  # clone3
    return "system calls refused"


def links(sandbox: Sandbox) -> str:
    sandbox.run("ln -s /etc/shadow shadow; ln -s /proc/1/root/etc/shadow root; ln -s / slash", timeout=10)
    for path in ("shadow", "root", "slash/etc/shadow"):
        with pytest.raises((FileNotFoundError, SandboxError)):
            sandbox.read_file(path)
    with pytest.raises(SandboxError, match=r"Read-only file system|Permission denied"):
        sandbox.write_file("slash/usr/new", b"")
    assert sandbox.run("ln /usr/bin/env hard; ln /etc/passwd hard; ls hard", timeout=10).exit_code != 0
    return "lead nowhere outside"


def devices(sandbox: Sandbox) -> str:
    attempts = [f"call('mknod', b'/testbed/{name}', {mode:#o}, {number})" for name, mode, number in (
        ("disk", 0o60666, 0xFE00), ("memory", 0o20666, 0x101), ("kmsg", 0o20666, 0x10B),
    )]  # fmt: skip
    assert set(tries(sandbox, *attempts)) == {"Operation not permitted"}
    assert sandbox.run("ls /dev/vda /dev/sda /dev/mem /dev/kmsg /dev/kvm /dev/fuse", timeout=10).stdout == b""
    return "refused"


def setuid(sandbox: Sandbox) -> str:
    status = sandbox.run("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | tr -s '\\t ' ' '", timeout=10).stdout
    zero = b" 0000000000000000\n"
    expected = b"".join(name + zero for name in (b"CapInh:", b"CapPrm:", b"CapEff:", b"CapBnd:", b"CapAmb:"))
    assert status == expected + b"NoNewPrivs: 1\nSeccomp: 2\n"
    for place in ("/testbed", "/tmp", "/dev/shm", "/home/sandbox"):
        options = sandbox.run(f"grep ' {place} ' /proc/mounts | cut -d' ' -f4", timeout=10).stdout.strip().split(b",")
        assert {b"rw", b"nosuid", b"nodev"} <= set(options), place
    assert sandbox.run("su -c id root </dev/null; sudo -n id; mount -t tmpfs x /tmp", timeout=10).exit_code != 0
    return "no privilege to gain"


def killing_the_agent(sandbox: Sandbox) -> str:
    sandbox.run("for s in TERM INT HUP QUIT KILL STOP TSTP USR1 SEGV; do kill -$s 1; done", timeout=10)
    sandbox.run("kill -KILL -1", timeout=10)
    assert tries(sandbox, "call('prlimit', 1, 7, (ctypes.c_ulong * 2)(1, 1), None)") == ["Operation not permitted"]
    return "pid 1 takes no signal from inside"


def forging_the_agent(sandbox: Sandbox) -> str:
    forged = r"printf '\0\0\0\3%0100d' 0"
    attempts = f"for n in 0 1 2 3 4 5 6 7 8 9; do {forged} > /proc/1/fd/$n; {forged} >&$n; done; cat /proc/1/maps"
    assert b"Permission denied" in sandbox.run(attempts, timeout=10).stderr
    done = sandbox.run("echo true; exit 5", timeout=10)
    assert (done.stdout, done.exit_code) == (b"true\n", 5)
    return "its descriptors and memory are closed"


def filling_the_pipe(sandbox: Sandbox) -> str:
    done = sandbox.run("yes | head -c 50M & yes >&2 & sleep 100", timeout=DEADLINE)
    assert done.timed_out and done.truncated and running(sandbox) == 0
    assert len(done.stdout) + len(done.stderr) <= 2 * (SMALL.output_bytes + 100)
    return "emptied and capped, killed at the deadline"


def slow_drip(sandbox: Sandbox) -> str:
    done = sandbox.run("while sleep 0.05; do echo drip; done", timeout=DEADLINE)
    assert done.timed_out and set(done.stdout.split()) == {b"drip"} and done.seconds < DEADLINE + 2
    return "killed at the deadline, its output kept"


def clock(sandbox: Sandbox) -> str:
    attempts = [
        "call('clock_settime', 0, (ctypes.c_long * 2)(1, 1))",
        "call('settimeofday', (ctypes.c_long * 2)(1, 1), None)",
    ]
    assert set(tries(sandbox, *attempts)) == {"Operation not permitted"}
    done = sandbox.run("date +%s; locale 2>/dev/null | grep ^LANG=; hostname", timeout=10).stdout.split()
    assert done[1:] == [b"LANG=C.UTF-8", b"sandbox"]
    assert abs(int(done[0]) - time.time()) < 10
    return "cannot be set; locale and host name are the same everywhere"


def deleting_everything(sandbox: Sandbox) -> str:
    assert sandbox.run("rm -rf --no-preserve-root / 2>/dev/null; ls -A /testbed", timeout=30).stdout == b""
    return "only what is its own"


ATTACKS = (
    Attack("fork bomb", fork_bomb),
    Attack("double-forked daemons", daemons),
    Attack("every signal ignored", ignored_signals),
    Attack("memory, one process", memory),
    Attack("memory, many processes", memory_of_many),
    Attack("output flood", flood),
    Attack("disk fill, one file", one_file),
    Attack("disk fill, many files", many_files),
    Attack("inode fill", inodes),
    Attack("host's secrets", secrets),
    Attack("/proc and /sys writes", kernel_settings),
    Attack("ptrace and friends", debugging),
    Attack("nested namespaces, mounts", namespaces),
    Attack("symbolic and hard links", links),
    Attack("device nodes", devices),
    Attack("setuid programs", setuid),
    Attack("killing the agent", killing_the_agent),
    Attack("forging the agent's answers", forging_the_agent),
    Attack("filling the agent's pipe", filling_the_pipe),
    Attack("slow drip past the deadline", slow_drip),
    Attack("clock, locale", clock),
    Attack("deleting everything", deleting_everything),
)
