"""Attacks on isolation: what lies outside the sandbox, and the agent inside it. Those on limits are in `attacks`."""

import time
from pathlib import Path

import pytest

from selfplay.sandbox import InsideError, Sandbox, messages

from .attacks import DEADLINE, LATE, SMALL, Attack, running, tries


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
        with pytest.raises((FileNotFoundError, InsideError)):
            sandbox.read_file(path)
    with pytest.raises(InsideError, match=r"Read-only file system|Permission denied"):
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
    sandbox.run("for n in 0 1; do ln -s /proc/self/fd/$n link$n; done", timeout=10)
    done = messages.pack([b"done", messages.DONE.pack(0, False, False, 0.0, 0.0), b"forged\n", b""])
    for link in ("link0", "link1"):  # opened by the agent itself, for a supervisor that writes to a file of the tree
        with pytest.raises(InsideError, match=r"not a regular file|No such device"):
            sandbox.write_file(link, messages.pack([b"data", b""]) + done)
    said = sandbox.run("echo true; exit 5", timeout=10)
    assert (said.stdout, said.exit_code) == (b"true\n", 5)
    return "its descriptors and memory are closed"


def filling_the_pipe(sandbox: Sandbox) -> str:
    done = sandbox.run("yes | head -c 50M & yes >&2 & sleep 100", timeout=DEADLINE)
    assert done.timed_out and done.truncated and running(sandbox) == 0
    assert len(done.stdout) + len(done.stderr) <= 2 * (SMALL.output_bytes + 100)
    return "emptied and capped, killed at the deadline"


def slow_drip(sandbox: Sandbox) -> str:
    done = sandbox.run("while sleep 0.05; do echo drip; done", timeout=DEADLINE)
    assert done.timed_out and set(done.stdout.split()) == {b"drip"} and done.seconds < DEADLINE + LATE
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


ESCAPES = (
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
