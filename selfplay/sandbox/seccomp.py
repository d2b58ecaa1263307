"""The system calls no build, test or model command needs, and the kernel bugs they reach. Assembled by hand as classic
BPF.

A denied call answers EPERM, so programs that probe for it go on; `clone3` answers ENOSYS, because its flags lie in
memory that a filter cannot read and the C library then falls back to `clone`, whose flags it can. Another
architecture's calls (32-bit ones, for instance) would have other numbers, so they kill the process.

Sockets are allowed by family, not denied: vsock, for one, is not held by a network namespace and reaches a
hypervisor.
"""

import errno
import platform
import socket
import struct
from dataclasses import dataclass

from selfplay.sandbox.protocol import IsolationUnavailable

LOAD, JUMP_EQUAL, JUMP_SET, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24  # offsets in struct seccomp_data, little endian
NAMESPACE_FLAGS = 0x7E020080  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET,TIME}
TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX type into somebody's terminal
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
X32 = 0x40000000

# Numbers from 424 on are the same everywhere.
COMMON = {
    "pidfd_getfd": 438,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "open_tree_attr": 467,
}


@dataclass(frozen=True)
class Machine:
    """An architecture as seccomp sees it: its audit number, the five calls looked at closely, and those denied."""

    audit: int
    clone: int
    socket: int
    pair: int
    ioctl: int
    prlimit: int
    denied: tuple[int, ...]


# In this order on both: ptrace, syslog, process_vm_readv, process_vm_writev, kcmp, bpf, perf_event_open, userfaultfd,
# add_key, request_key, keyctl, mount, umount2, pivot_root, chroot, unshare, setns, init_module, finit_module,
# delete_module, kexec_load, kexec_file_load, reboot, swapon, swapoff, acct, quotactl, settimeofday, clock_settime,
# adjtimex, clock_adjtime, name_to_handle_at, open_by_handle_at, fanotify_init, vhangup; x86_64 alone has iopl, ioperm
# and modify_ldt.
X86_64 = """
    101 103 310 311 312 321 298 323 248 249 250 165 166 155 161 272 308 175 313 176 246 320 169 167 168 163 179 164 227
    159 305 303 304 300 153 172 173 154
"""
AARCH64 = """
    117 116 270 271 272 280 241 282 217 218 219 40 39 41 51 97 268 105 273 106 104 294 142 224 225 89 60 170 112 171 266
    264 265 262 58
"""
MACHINES = {
    "x86_64": Machine(
        0xC000003E, clone=56, socket=41, pair=53, ioctl=16, prlimit=302, denied=tuple(map(int, X86_64.split()))
    ),
    "aarch64": Machine(
        0xC00000B7, clone=220, socket=198, pair=199, ioctl=29, prlimit=261, denied=tuple(map(int, AARCH64.split()))
    ),
}
CLONE3 = 435


def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One `struct sock_filter`."""
    return struct.pack("<HBBI", code, if_true, if_false, value)


def refuse(number: int) -> bytes:
    """Return from the filter: the call fails with this errno."""
    return instruction(RETURN, ERRNO | number)


def on_call(number: int, body: list[bytes]) -> list[bytes]:
    """`body` for one system call, skipped (with the number still loaded) for every other. Ends the filter."""
    return [instruction(JUMP_EQUAL, number, 0, len(body)), *body]


def unless_argument(offset: int, allowed: tuple[int, ...], number: int) -> list[bytes]:
    """Allow when the argument is one of `allowed`, refuse with `number` otherwise."""
    tests = [instruction(JUMP_EQUAL, value, len(allowed) - i, 0) for i, value in enumerate(allowed)]
    return [instruction(LOAD, offset), *tests, refuse(number), instruction(RETURN, ALLOW)]


def if_argument(offset: int, denied: tuple[int, ...], number: int) -> list[bytes]:
    """Refuse with `number` when the argument is one of `denied`, allow otherwise."""
    tests = [instruction(JUMP_EQUAL, value, len(denied) - i, 0) for i, value in enumerate(denied)]
    return [instruction(LOAD, offset), *tests, instruction(RETURN, ALLOW), refuse(number)]


def program(machine_name: str | None = None) -> bytes:
    """The filter for this machine, as `bwrap --seccomp` reads it. Raises `IsolationUnavailable` for an unknown one."""
    name = machine_name or platform.machine()
    if name not in MACHINES:
        raise IsolationUnavailable(
            f"no system-call filter is known for {name} machines", f"Known: {', '.join(sorted(MACHINES))}."
        )
    machine = MACHINES[name]
    lines = [
        instruction(LOAD, ARCHITECTURE),
        instruction(JUMP_EQUAL, machine.audit, 1, 0),
        instruction(RETURN, KILL),
        instruction(LOAD, NUMBER),
        instruction(JUMP_AT_LEAST, X32, 0, 1),
        refuse(errno.ENOSYS),
        *on_call(CLONE3, [refuse(errno.ENOSYS)]),
        *on_call(machine.socket, unless_argument(FIRST_ARGUMENT, FAMILIES, errno.EAFNOSUPPORT)),
        *on_call(machine.pair, unless_argument(FIRST_ARGUMENT, FAMILIES, errno.EAFNOSUPPORT)),
        *on_call(machine.ioctl, if_argument(SECOND_ARGUMENT, TERMINAL_INPUT, errno.EPERM)),
        # Only a process's own limits: pid 1's are set once, by nobody inside.
        *on_call(machine.prlimit, unless_argument(FIRST_ARGUMENT, (0,), errno.EPERM)),
        *on_call(
            machine.clone,
            [
                instruction(LOAD, FIRST_ARGUMENT),
                instruction(JUMP_SET, NAMESPACE_FLAGS, 1, 0),
                instruction(RETURN, ALLOW),
                refuse(errno.EPERM),
            ],
        ),
    ]
    for number in (*machine.denied, *COMMON.values()):
        lines += on_call(number, [refuse(errno.EPERM)])
    return b"".join([*lines, instruction(RETURN, ALLOW)])
