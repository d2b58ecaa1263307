"""The system-call filter: it refuses calls that no build, test or model command needs, and so blocks kernel bugs in
them.

Assembled here as classic BPF; `system_calls` lists the calls, and says why libseccomp is not used.

A denied call returns EPERM, so programs that probe for it continue. `clone3` returns ENOSYS: its flags lie in memory
that a filter cannot read, and the C library then falls back to `clone`, whose flags it can read. Calls of another
architecture (32-bit ones, for instance) would have other numbers: none of them is there. (To be killed for one would be
a line in the host's audit log, as many a second as somebody likes.)

Calls that slow a process down are refused if they affect the agent (process 1 inside), directly or as one of the user's
processes. A command may use them on itself and its own children.

Programs for sockets, filters of system calls, and asynchronous input and output of the old kind are refused: they take
from sums that the kernel keeps for the whole machine (compiled filters, `fs.aio-max-nr`), and no group is charged.

So are places of memory on the machine's nodes (`mbind`): each policy is the kernel's memory, charged to no group. And
lists of mounts (`statmount`): whoever reads one stops the mounts of the machine meanwhile.

Memory that the kernel itself cannot see (`memfd_secret`) splits the large pages of its own map for good; writing out
all file systems of the host (`sync`) is answered as if it were done.

Leases and the old kind of watching folders are refused: a lease on a file that sandboxes share makes every open of it
wait, here and on the host, for 45 s.

Nobody changes the limit of core dumps: at 1 the kernel starts no handler of the host's (a program of its root), at 0 it
does. Who lowers it is told that this was done.

What a connection may receive that nobody has accepted is charged to no group, so the size of that buffer is set once
(`loopback.TCP_RMEM`). The kernel takes a program's wish as a hint, too: who asks for more is told that it was done.

Sockets are allowed by family, not denied: vsock, for example, is not confined by a network namespace and reaches a
hypervisor; and what waits in a netlink socket is charged to no group, so that one sandbox could fill the machine's
memory. Programs that list the network's interfaces fail for that reason. So could huge pages, which belong to a pool of
the whole machine. And memory that grows like a stack is not counted where only a process's data is limited.
"""

import errno
import platform
import socket
from dataclasses import dataclass

from selfplay.bpf import (
    ALLOW,
    ARCHITECTURE,
    ARGUMENTS,
    AUDIT,
    JUMP_AT_LEAST,
    JUMP_EQUAL,
    JUMP_SET,
    LOAD,
    NUMBER,
    RETURN,
    X32,
    instruction,
    refuse,
)  # fmt: skip
from selfplay.sandbox import system_calls
from selfplay.sandbox.errors import IsolationUnavailable

NAMESPACE_FLAGS = 0x7E020080  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET,TIME}
TERMINAL_INPUT = (0x5412, 0x541C, 0x5423)
"""TIOCSTI and TIOCLINUX can type into the user's terminal; TIOCSETD makes the host load a module."""
RLIMIT_CORE = 4
PR_SET_SECCOMP, PR_SCHED_CORE = 22, 62
OTHERS_OPENS = (1024, 1026)  # F_SETLEASE and F_NOTIFY, of fcntl
MAP_HUGETLB, MFD_HUGETLB, SHM_HUGETLB = 0x40000, 4, 0o4000
MAP_GROWSDOWN = 0x100  # counted as stack, and so by no limit on data
SOL_SOCKET = 1
PASS_PROCESS = (76,)  # SO_PASSPIDFD: its first message would bring the same
SOCKET_PROGRAMS = (26, 50, 51, 52)  # SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF and _EBPF
RECEIVE_BUFFER = (8, 33)  # SO_RCVBUF and SO_RCVBUFFORCE
PROCESS_OF_PEER = (77,)  # SO_PEERPIDFD: of a build's socket it would be the supervisor
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
AGENT = 1  # its process number inside
PRIO_USER, IOPRIO_WHO_USER = 2, 3
SCHEDULING = ("sched_setaffinity", "sched_setparam", "sched_setscheduler")


@dataclass(frozen=True)
class ArgumentRule:
    """Decides a call by the lower half of one argument, which is all that the kernel reads of these: allowed are `only`
    these values, or all but `never` these, or none with a bit of `no_bit_of`. `level`: the rule holds where the second
    argument is this one; elsewhere the call is allowed. A call with an `ignored` value is answered as if it were
    made."""

    argument: int
    only: tuple[int, ...] = ()
    never: tuple[int, ...] = ()
    no_bit_of: int = 0
    level: int | None = None
    ignored: tuple[int, ...] = ()
    error: int = errno.EPERM


RULES = {
    "socket": ArgumentRule(0, only=FAMILIES, error=errno.EAFNOSUPPORT),
    "socketpair": ArgumentRule(0, only=FAMILIES, error=errno.EAFNOSUPPORT),
    "ioctl": ArgumentRule(1, never=TERMINAL_INPUT),
    "fcntl": ArgumentRule(1, never=OTHERS_OPENS),
    "setrlimit": ArgumentRule(0, never=(RLIMIT_CORE,), error=0),
    "setsockopt": ArgumentRule(2, never=(*SOCKET_PROGRAMS, *PASS_PROCESS), level=SOL_SOCKET, ignored=RECEIVE_BUFFER),
    "getsockopt": ArgumentRule(2, never=PROCESS_OF_PEER, level=SOL_SOCKET, error=errno.ENOPROTOOPT),
    "clone": ArgumentRule(0, no_bit_of=NAMESPACE_FLAGS),
    "mmap": ArgumentRule(3, no_bit_of=MAP_HUGETLB | MAP_GROWSDOWN, error=errno.ENOMEM),
    "memfd_create": ArgumentRule(1, no_bit_of=MFD_HUGETLB, error=errno.ENOMEM),
    "shmget": ArgumentRule(2, no_bit_of=SHM_HUGETLB, error=errno.ENOMEM),
}
"""What protects the machine. The filter that an engine applies is rendered from the same (`docker.profile`); what
protects the agent from commands is this filter's alone."""


def on_call(number: int, body: list[bytes]) -> list[bytes]:
    """`body` for one system call; for every other call it is skipped, with the number still loaded. `body` must end the
    filter."""
    return [instruction(JUMP_EQUAL, number, 0, len(body)), *body]


def unless_argument(offset: int, allowed: tuple[int, ...], number: int) -> list[bytes]:
    """Allow if the argument is one of `allowed`, else refuse with `number`."""
    tests = [instruction(JUMP_EQUAL, value, len(allowed) - i, 0) for i, value in enumerate(allowed)]
    return [instruction(LOAD, offset), *tests, refuse(number), instruction(RETURN, ALLOW)]


def if_argument(offset: int, denied: tuple[int, ...], number: int) -> list[bytes]:
    """Refuse with `number` if the argument is one of `denied`, else allow."""
    tests = [instruction(JUMP_EQUAL, value, len(denied) - i, 0) for i, value in enumerate(denied)]
    return [instruction(LOAD, offset), *tests, instruction(RETURN, ALLOW), refuse(number)]


def unless_agent(user: int) -> list[bytes]:
    """Refuse `which, who` arguments that reach the agent: by its number, or as one of the user's processes."""
    return [
        instruction(LOAD, ARGUMENTS[0]),
        instruction(JUMP_EQUAL, user, 3, 0),
        instruction(LOAD, ARGUMENTS[1]),
        instruction(JUMP_EQUAL, AGENT, 1, 0),
        instruction(RETURN, ALLOW),
        refuse(errno.EPERM),
    ]


def only_oneself(user: int) -> list[bytes]:
    """Allow `which, who` arguments that mean the caller or its group: of a thread's priority for a disk, which later
    commands would inherit, nobody can be asked."""
    return [
        instruction(LOAD, ARGUMENTS[0]),
        instruction(JUMP_EQUAL, user, 2, 0),
        instruction(LOAD, ARGUMENTS[1]),
        instruction(JUMP_EQUAL, 0, 1, 0),
        refuse(errno.EPERM),
        instruction(RETURN, ALLOW),
    ]


def by_rule(rule: ArgumentRule) -> list[bytes]:
    """The instructions of one of `RULES`."""
    offset = ARGUMENTS[rule.argument]
    if rule.no_bit_of:
        tests = [instruction(LOAD, offset), instruction(JUMP_SET, rule.no_bit_of, 1, 0)]
        return [*tests, instruction(RETURN, ALLOW), refuse(rule.error)]
    if rule.only:
        return unless_argument(offset, rule.only, rule.error)
    rest = [instruction(LOAD, offset)]
    for value in rule.ignored:
        rest += on_call(value, [refuse(0)])
    rest += if_argument(offset, rule.never, rule.error)
    if rule.level is None:
        return rest
    return [
        instruction(LOAD, ARGUMENTS[1]),
        instruction(JUMP_EQUAL, rule.level, 1, 0),
        instruction(RETURN, ALLOW),
        *rest,
    ]


def own_limits() -> list[bytes]:
    """Only the limits of the calling process: those of pid 1 are set once, from outside. A new one (the third argument)
    of core dumps is ignored."""
    return [
        instruction(LOAD, ARGUMENTS[0]),
        instruction(JUMP_EQUAL, 0, 1, 0),
        refuse(errno.EPERM),
        instruction(LOAD, ARGUMENTS[1]),
        instruction(JUMP_EQUAL, RLIMIT_CORE, 1, 0),
        instruction(RETURN, ALLOW),
        instruction(LOAD, ARGUMENTS[2]),
        instruction(JUMP_EQUAL, 0, 0, 2),
        instruction(LOAD, ARGUMENTS[2] + 4),
        instruction(JUMP_EQUAL, 0, 1, 0),
        refuse(0),
        instruction(RETURN, ALLOW),
    ]


def known(machine: str) -> str:
    """Return `machine`. Raises `IsolationUnavailable` if the numbers of its system calls are not known."""
    if machine not in AUDIT:
        raise IsolationUnavailable(
            f"no system-call filter is known for {machine} machines", f"Known: {', '.join(sorted(AUDIT))}."
        )
    return machine


def program(machine_name: str | None = None) -> bytes:
    """The filter for this machine, as `bwrap --seccomp` reads it. Raises `IsolationUnavailable` for an unknown
    machine."""
    name = known(machine_name or platform.machine())
    call = system_calls.numbers(system_calls.INSPECTED, name)
    lines = [
        instruction(LOAD, ARCHITECTURE),
        instruction(JUMP_EQUAL, AUDIT[name], 1, 0),
        refuse(errno.ENOSYS),
        instruction(LOAD, NUMBER),
        instruction(JUMP_AT_LEAST, X32, 0, 1),
        refuse(errno.ENOSYS),
        *on_call(call["clone3"], [refuse(errno.ENOSYS)]),
        *on_call(call["prctl"], if_argument(ARGUMENTS[0], (PR_SET_SECCOMP, PR_SCHED_CORE), errno.EPERM)),
        *on_call(call["prlimit64"], own_limits()),
        *on_call(call["setpriority"], unless_agent(PRIO_USER)),
        *on_call(call["ioprio_set"], only_oneself(IOPRIO_WHO_USER)),
    ]
    for name_of_call, rule in RULES.items():
        lines += on_call(call[name_of_call], by_rule(rule))
    # Of oneself alone: a slice cannot be asked for, and later commands would inherit the starter's.
    lines += on_call(call["sched_setattr"], unless_argument(ARGUMENTS[0], (0,), errno.EPERM))
    for name_of_call in SCHEDULING:
        lines += on_call(call[name_of_call], if_argument(ARGUMENTS[0], (AGENT,), errno.EPERM))
    for number in system_calls.numbers(system_calls.DENIED, name).values():
        lines += on_call(number, [refuse(errno.EPERM)])
    for number in system_calls.numbers(system_calls.ANSWERED, name).values():
        lines += on_call(number, [refuse(0)])
    return b"".join([*lines, instruction(RETURN, ALLOW)])
