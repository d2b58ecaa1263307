"""The filter's programs."""

import pytest
from filter_programs import ALLOW, AUDIT, answer, libseccomp_numbers

from selfplay.sandbox import system_calls
from selfplay.sandbox.seccomp import program

PRETENDED, EPERM, ENOMEM, ENOSYS, EAFNOSUPPORT = 0, 1, 12, 38, 97


def decide(machine: str, number: int, *arguments: int, audit: int | None = None) -> str | int:
    return answer(program(machine), audit or AUDIT[machine], number, *arguments)


# From the kernel's own tables (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h).
X86_64 = """
    read=0 write=1 execve=59 openat=257 fcntl=72 ioctl=16 socket=41 clone=56 clone3=435 ptrace=101 mount=165 unshare=272
    setns=308 bpf=321 keyctl=250 userfaultfd=323 perf_event_open=298 pivot_root=155 prlimit64=302 process_vm_writev=311
    kexec_load=246 init_module=175 io_uring_setup=425 move_mount=429 futex=202 open_by_handle_at=304 pidfd_open=434
    wait4=61 mmap=9 socketpair=53 setpriority=141 ioprio_set=251 sched_setaffinity=203 sched_setattr=314
    sched_setparam=142 sched_setscheduler=144 io_setup=206 setsockopt=54
    seccomp=317 prctl=157 memfd_create=319 shmget=29 setrlimit=160
"""
AARCH64 = """
    read=63 write=64 execve=221 openat=56 ioctl=29 socket=198 clone=220 clone3=435 ptrace=117 mount=40 unshare=97
    setns=268 bpf=280 keyctl=219 userfaultfd=282 perf_event_open=241 pivot_root=41 prlimit64=261 process_vm_writev=271
    kexec_load=104 init_module=105 io_uring_setup=425 move_mount=429 futex=98 open_by_handle_at=265 pidfd_open=434
    wait4=260 mmap=222 socketpair=199 setpriority=140 ioprio_set=30 sched_setaffinity=122 sched_setattr=274
    sched_setparam=118 sched_setscheduler=119 io_setup=0 setsockopt=208
    seccomp=277 prctl=167 fcntl=25 memfd_create=279 shmget=194 setrlimit=164
"""
NUMBERS = {
    machine: {name: int(number) for name, number in (entry.split("=") for entry in table.split())}
    for machine, table in (("x86_64", X86_64), ("aarch64", AARCH64))
}
HARMLESS = ("read", "write", "execve", "openat", "futex", "pidfd_open", "wait4", "mmap")
HUGE = (("mmap", (0, 4096, 3), 0x22, 0x40000), ("memfd_create", (0,), 1, 4), ("shmget", (0, 4096), 0o1600, 0o4000))
"""A call, its first arguments, usual flags, and the flag that asks for huge pages."""
DENIED = (
    *("ptrace", "mount", "unshare", "setns", "bpf", "keyctl", "userfaultfd", "perf_event_open", "pivot_root"),
    *("process_vm_writev", "kexec_load", "init_module", "io_uring_setup", "move_mount", "open_by_handle_at"),
    "io_setup",
    "seccomp",
)


@pytest.mark.parametrize("machine", NUMBERS)
def test_calls_by_name(machine: str) -> None:
    numbers = NUMBERS[machine]
    assert {name: decide(machine, numbers[name]) for name in HARMLESS} == dict.fromkeys(HARMLESS, ALLOW)
    assert {name: decide(machine, numbers[name]) for name in DENIED} == dict.fromkeys(DENIED, EPERM)
    assert decide(machine, numbers["clone3"]) == ENOSYS


@pytest.mark.parametrize("machine", NUMBERS)
def test_what_writes_out_the_host_s_file_systems_is_answered_as_done(machine: str) -> None:
    sync = {"x86_64": (162, 306, 74, 75, 277, 26), "aarch64": (81, 267, 82, 83, 84, 227)}[machine]  # and fsync, msync
    assert {decide(machine, number) for number in sync} == {PRETENDED}
    assert decide(machine, 447) == EPERM  # memfd_secret


@pytest.mark.parametrize("machine", NUMBERS)
def test_calls_by_argument(machine: str) -> None:
    numbers = NUMBERS[machine]
    families = {family for family in range(64) if decide(machine, numbers["socket"], family, 1) == ALLOW}
    assert families == {1, 2, 10}  # unix, inet, inet6
    assert decide(machine, numbers["socket"], 40, 1) == EAFNOSUPPORT  # vsock
    core, files, given = 4, 7, (0x7F0000001000, 1 << 40, 1)
    assert [decide(machine, numbers["setrlimit"], what, given[0]) for what in (files, core)] == [ALLOW, PRETENDED]
    assert {decide(machine, numbers["prlimit64"], 0, core, new) for new in given} == {PRETENDED}
    assert [decide(machine, numbers["prlimit64"], 0, *rest) for rest in ((core, 0), (files, given[0]))] == [ALLOW] * 2
    for name, before, usual, huge in HUGE:
        ends = [decide(machine, numbers[name], *before, flags) for flags in (usual, usual | huge)]
        assert ends == [ALLOW, ENOMEM]
    pairs = {family for family in range(64) if decide(machine, numbers["socketpair"], family, 1) == ALLOW}
    assert pairs == families  # tipc, for one, can be had in pairs, too
    fork, thread = 17, 0x3D0F00  # SIGCHLD; what the C library passes for a thread
    assert [decide(machine, numbers["clone"], flags) for flags in (fork, thread)] == [ALLOW, ALLOW]
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80):
        assert decide(machine, numbers["clone"], fork | flag) == EPERM
    requests = (0x5401, 0x5412, 0x541C, 0x5423)  # TCGETS, TIOCSTI, TIOCLINUX, TIOCSETD
    assert [decide(machine, numbers["ioctl"], 0, request) for request in requests] == [ALLOW, *[EPERM] * 3]
    assert [decide(machine, numbers["prctl"], option) for option in (4, 22, 38, 62)] == [ALLOW, EPERM, ALLOW, EPERM]
    attached = {(level, option) for level in (0, 1, 6, 41) for option in range(80)
                if decide(machine, numbers["setsockopt"], 3, level, option) == EPERM}  # fmt: skip
    assert attached == {(1, 26), (1, 50), (1, 51), (1, 52), (1, 76)}  # (41, 26) is IPV6_V6ONLY
    held = (1, 4, 6, 1024, 1026)  # F_GETFD, F_SETFL, F_SETLK, F_SETLEASE, F_NOTIFY
    assert [decide(machine, numbers["fcntl"], 3, how) for how in held] == [ALLOW, ALLOW, ALLOW, EPERM, EPERM]
    assert [decide(machine, numbers["prlimit64"], pid) for pid in (0, 1, 2)] == [ALLOW, EPERM, EPERM]


@pytest.mark.parametrize("machine", NUMBERS)
def test_the_agent_cannot_be_slowed_and_a_command_may_slow_itself(machine: str) -> None:
    numbers = NUMBERS[machine]
    for name in ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"):
        # Itself, the agent, one of its own threads or children.
        other = EPERM if name == "sched_setattr" else ALLOW  # whose slice cannot be read, and is inherited
        assert [decide(machine, numbers[name], pid) for pid in (0, 1, 2)] == [ALLOW, EPERM, other]
    for name, process, group, user in (("setpriority", 0, 1, 2), ("ioprio_set", 1, 2, 3)):
        answers = {
            (which, who): decide(machine, numbers[name], which, who)
            for which in (process, group, user)
            for who in (0, 1, 7)
        }
        refused = {place for place, answer in answers.items() if answer == EPERM}
        others = {(process, 7), (group, 7)} if name == "ioprio_set" else set()  # which cannot be read, and is inherited
        assert refused == {(process, 1), (group, 1), (user, 0), (user, 1), (user, 7)} | others
        assert set(answers.values()) == {ALLOW, EPERM}


def test_other_tables_of_numbers() -> None:
    assert decide("x86_64", 101, audit=0x40000003) == ENOSYS  # 32-bit: there, 101 is another call
    assert decide("x86_64", 0x40000000 + 101) == ENOSYS  # x32
    assert decide("aarch64", 0, audit=AUDIT["x86_64"]) == ENOSYS


@pytest.mark.parametrize("machine", system_calls.MACHINES)
def test_every_number_is_the_one_libseccomp_has(machine: str) -> None:
    tables = (system_calls.INSPECTED, system_calls.DENIED)
    names = [line.split()[0] for table in tables for line in table.split("\n") if line]
    theirs = libseccomp_numbers(machine, names)
    for name, number in {"open_tree_attr": 467, "statmount": 457, "listmount": 458}.items():  # scripts/syscall.tbl
        if theirs[name] == -1:  # of Linux 6.15 and 6.8, newer than this libseccomp
            theirs[name] = number
    ours = {name: number for table in tables for name, number in system_calls.numbers(table, machine).items()}
    assert {name: number for name, number in theirs.items() if number >= 0} == ours
