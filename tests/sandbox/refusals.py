"""Attacks that end at the system-call filter, the namespaces or the lack of capabilities, and their answers."""

import os
import platform
from collections.abc import Callable

from selfplay.sandbox import Sandbox, seccomp, system_calls

from .attacks import CALL, Attack, python

NUMBERS = {
    name: number
    for table in (system_calls.DENIED, system_calls.INSPECTED)
    for name, number in system_calls.numbers(table, platform.machine()).items()
}
EPERM, EACCES, ENOSYS = "Operation not permitted", "Permission denied", "Function not implemented"
NO_FAMILY, NOT_THERE = "Address family not supported by protocol", "No such file or directory"


def calls(*names: str) -> tuple[str, ...]:
    """Each of these system calls, as far as this machine has it, with arguments that mean nothing."""
    return tuple(f"call('syscall', {NUMBERS[name]}, 0, 0, 0, 0, 0)" for name in names if name in NUMBERS)


def opens(*paths: str, mode: str = "r") -> tuple[str, ...]:
    return tuple(f"outcome(open, {path!r}, {mode!r})" for path in paths)


def sockets(*families: int, protocols: tuple[int, ...] = (0,)) -> tuple[str, ...]:
    return tuple(
        f"outcome(__import__('socket').socket, {one}, 3, {number})" for one in families for number in protocols
    )


REFUSED, INCAPABLE = "system calls refused", "no capability for it"
EINVAL = "Invalid argument"
CASES: tuple[tuple[str, tuple[str, ...], tuple[str, ...], str], ...] = (
    ("kernel programs (bpf)", calls("bpf"), (EPERM,), REFUSED),
    ("performance counters", calls("perf_event_open"), (EPERM,), REFUSED),
    ("page faults handled by a program", calls("userfaultfd"), (EPERM,), REFUSED),
    ("memory that the kernel cannot see", calls("memfd_secret"), (EPERM,), REFUSED),
    ("kernel keys", calls("keyctl", "add_key", "request_key"), (EPERM,), REFUSED),
    ("io_uring", calls("io_uring_setup", "io_uring_enter", "io_uring_register"), (EPERM,), REFUSED),
    ("kernel modules", calls("init_module", "finit_module", "delete_module"), (EPERM,), REFUSED),
    ("another kernel", calls("kexec_load", "kexec_file_load", "reboot"), (EPERM,), REFUSED),
    ("swap, quotas, accounting", calls("swapon", "swapoff", "quotactl", "quotactl_fd", "acct"), (EPERM,), REFUSED),
    ("files by handle", calls("name_to_handle_at", "open_by_handle_at"), (EPERM,), REFUSED),
    ("mounts by descriptor", calls("fsopen", "fsmount", "move_mount", "mount_setattr", "open_tree"), (EPERM,), REFUSED),
    ("another root", calls("pivot_root", "chroot"), (EPERM,), REFUSED),
    ("processes of other namespaces", calls("setns", "kcmp", "pidfd_getfd"), (EPERM,), REFUSED),
    ("ports and segments", calls("iopl", "ioperm", "modify_ldt"), (EPERM,), REFUSED),
    ("watching a whole file system", calls("fanotify_init"), (EPERM,), REFUSED),
    ("the kernel's log", calls("syslog"), (EPERM,), REFUSED),
    ("system calls by other numbers", (f"call('syscall', {0x40000000 + 101})",), (ENOSYS,), "not there"),
    ("sockets beyond the usual", sockets(40, 38, 17, 30, 44, 16), (NO_FAMILY,), "families refused"),
    (
        "huge pages, and memory that grows like a stack",
        (
            f"call('syscall', {NUMBERS['mmap']}, 0, 1 << 21, 3, {0x22 | seccomp.MAP_HUGETLB}, -1, 0)",
            f"call('syscall', {NUMBERS['mmap']}, 0, 1 << 21, 3, {0x22 | seccomp.MAP_GROWSDOWN}, -1, 0)",
            f"call('memfd_create', b'x', {seccomp.MFD_HUGETLB})",
            f"call('shmget', 0, 1 << 21, {0o1600 | seccomp.SHM_HUGETLB})",
        ),
        ("Cannot allocate memory",),
        REFUSED,
    ),
    ("raw packets", sockets(2, 10, protocols=(1, 6, 58)), (EPERM,), "no capability for them"),
    ("typing into the terminal", tuple(f"call('ioctl', 0, {n}, b'x')" for n in (0x5412, 0x541C)), (EPERM,), REFUSED),
    ("another user", ("call('setuid', 0)", "call('setgid', 0)", "call('setgroups', 0, 0)"), (EPERM, EINVAL), INCAPABLE),
    ("another host name", ("call('sethostname', b'x', 1)", "call('setdomainname', b'x', 1)"), (EPERM,), INCAPABLE),
    (
        "the agent's priority",
        (
            *("call('setpriority', 0, 1, 19)", "call('setpriority', 2, 0, 19)", "call('setpriority', 1, 1, 19)"),
            *(f"call('syscall', {NUMBERS['ioprio_set']}, {which}, {who}, 0x6000)" for which, who in ((1, 1), (3, 0))),
        ),
        (EPERM,),
        REFUSED,
    ),
    (
        "the agent's scheduling",
        tuple(
            f"call('syscall', {NUMBERS[name]}, 1, 128, b'\\0' * 128)"
            for name in ("sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity")
        ),
        (EPERM,),
        REFUSED,
    ),
    ("the agent's limits", ("call('prlimit', 1, 7, (ctypes.c_ulong * 2)(1, 1), None)",), (EPERM,), REFUSED),
    ("the agent's memory", opens("/proc/1/mem", "/proc/1/maps", mode="r+"), (EACCES,), "root's to open"),
    (
        "the agent's environment and folders",
        opens("/proc/1/environ", "/proc/1/root/x", "/proc/1/cwd/x"),
        (EACCES,),
        "root's to open",
    ),
    (
        "the agent's place in the out-of-memory queue",
        opens("/proc/1/oom_score_adj", mode="r+"),
        (EACCES,),
        "root's to open",
    ),
    (
        "memory of the machine",
        opens("/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore"),
        (NOT_THERE, EACCES),
        "not there, or root's",
    ),
    (
        "disks of the machine",
        opens("/dev/vda", "/dev/sda", "/dev/loop-control", "/dev/fuse"),
        (NOT_THERE,),
        "not there",
    ),
    ("control groups", opens("/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/tasks"), (NOT_THERE,), "not there"),
    ("the terminal", opens("/dev/tty"), ("No such device or address",), "there is none"),
)


HELPER = """
def outcome(attempt, *arguments):
    try: attempt(*arguments)
    except OSError as error: return error.strerror
    return "open"
"""


def refusal(attempts: tuple[str, ...], answers: tuple[str, ...], words: str) -> Callable[[Sandbox], str]:
    def run(sandbox: Sandbox) -> str:
        lines = "\n".join(f"print({attempt}, flush=True)" for attempt in attempts)
        done = python(sandbox, CALL + HELPER + lines)
        found = set(done.stdout.decode().splitlines())
        assert found and found <= set(answers), done.text
        return words

    return run


def signals(sandbox: Sandbox) -> str:
    """Processes of the host by their numbers: none of them exists inside."""
    found = python(sandbox, f"import os\ntry: os.kill({os.getpid()}, 9)\nexcept ProcessLookupError: print('none')")
    assert found.stdout == b"none\n"
    return "no such process"


def setuid_file(sandbox: Sandbox) -> str:
    done = sandbox.run("cp $(command -v id) own; chmod 6755 own; ./own -u; ./own -ru; ./own -g", timeout=10)
    assert len(set(done.stdout.split())) == 1 and done.stdout.split()[0] != b"0"
    return "runs as whoever runs it"


def traps(sandbox: Sandbox) -> str:
    """Files that a shell or an interpreter might run at the next command."""
    mark = "echo trapped"
    for name in (".bashrc", ".profile", ".bash_profile", ".bash_login"):
        sandbox.run(f"echo '{mark}' > ~/{name}", timeout=10)
    sandbox.run(
        f"export BASH_ENV=~/.bashrc ENV=~/.bashrc; echo '{mark}' > sitecustomize.py; alias ls='{mark}'", timeout=10
    )
    assert sandbox.run("ls; echo $BASH_ENV$ENV", timeout=10).stdout.split() == [b"sitecustomize.py"]
    assert b"trapped" not in sandbox.run(["python3", "-c", "print('clean')"], timeout=10).stdout
    return "the next command starts clean"


def core_dumps(sandbox: Sandbox) -> str:
    done = sandbox.run("ulimit -c unlimited; sh -c 'kill -SEGV $$'; ls -A", timeout=10)
    assert done.stdout == b""
    lowered = sandbox.run("ulimit -c 0; ulimit -c -H; ulimit -c", timeout=10).stdout.split()
    assert set(lowered) <= {b"0", b"1"} and sandbox.run("ulimit -c", timeout=10).stdout != b"unlimited\n"
    return "none is written"


def names_outside(sandbox: Sandbox) -> str:
    done = python(
        sandbox, "import socket\ntry: print(socket.getaddrinfo('example.org', 80))\nexcept OSError: print('none')", 30
    )
    assert done.stdout == b"none\n"
    return "no name is found"


REFUSALS = (
    *(Attack(name, refusal(attempts, answers, words)) for name, attempts, answers, words in CASES),
    Attack("signals to the host's processes", signals),
    Attack("a setuid file of its own", setuid_file),
    Attack("traps for the next command", traps),
    Attack("core dumps", core_dumps),
    Attack("names of the network", names_outside),
)
