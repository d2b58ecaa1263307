"""The filter and the limits that the engine applies: the same rules as inside, before any program of an image runs."""

import contextlib
import ctypes
import ctypes.util
import dataclasses
import json
import os
import platform
import resource
from collections.abc import Callable
from typing import Any

import pytest

from selfplay.sandbox import IsolationUnavailable, World, agent, system_calls
from selfplay.sandbox.docker import container, profile
from selfplay.sandbox.docker.allowed_calls import ALLOWED
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.probe import probe
from selfplay.sandbox.seccomp import NAMESPACE_FLAGS, RULES
from selfplay.sandbox.ulimits import descriptors

from .attacks import SMALL
from .hostile_images import derived, of_its_own_agent
from .test_seccomp import ALLOW, AUDIT, decide

UPPER = 1 << 40
"""A bit that the kernel does not read of these arguments, and that an engine's simpler comparisons do."""
VALUES = {
    "socket": [(family, 1) for family in (*range(70), UPPER | 40, UPPER | 1, 2**31, 2**32 - 1)],
    "socketpair": [(family, 1) for family in range(70)],
    "ioctl": [(0, request | upper) for request in (*range(0x5400, 0x5430), 0, 2**32 - 1) for upper in (0, UPPER)],
    "fcntl": [(3, how | upper) for how in (*range(20), *range(1020, 1040), 2**32 - 1) for upper in (0, UPPER)],
    "setsockopt": [(3, level | upper, option | upper) for level in (0, 1, 2, 3, 41, 2**31, 2**32 - 1)
                   for option in (*range(80), 2**32 - 1) for upper in (0, UPPER)],
    "getsockopt": [(3, level | upper, option | upper) for level in (0, 1, 2, 41, 2**31) for option in range(80)
                   for upper in (0, UPPER)],
    "setrlimit": [(what | upper, 0) for what in (*range(16), 2**32 - 1) for upper in (0, UPPER)],
    "mmap": [(0, 4096, 3, 1 << bit) for bit in range(33)],
    "memfd_create": [(0, 1 << bit) for bit in range(33)],
    "shmget": [(0, 4096, 1 << bit) for bit in range(33)],
    "clone": [(17 | flags, 0) for flags in (0, 0x3D0F00, *(1 << bit for bit in range(33)), NAMESPACE_FLAGS)],
}  # fmt: skip


def judged(machine: str, name: str, *arguments: int) -> bool:
    """Whether an engine allows the call: of its rules for this name, one whose tests all hold."""
    asked = json.loads(profile.security(machine)[1].removeprefix("seccomp="))
    assert asked["defaultAction"] == "SCMP_ACT_ERRNO"
    for rule in asked["syscalls"]:
        if name in rule["names"] and rule["action"] == "SCMP_ACT_ERRNO":
            assert "args" not in rule  # else it would depend on the engine which of two rules holds
        elif name in rule["names"]:
            tests = rule.get("args") or ()
            assert {test["op"] for test in tests} <= {"SCMP_CMP_MASKED_EQ"}
            assert len({test["index"] for test in tests}) == len(tests)  # of two for one argument, engines make an "or"
            if all(arguments[test["index"]] & test["value"] == test["valueTwo"] for test in tests):
                return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("machine", system_calls.MACHINES)
def test_the_engine_s_filter_and_ours_decide_alike_by_argument(machine: str) -> None:
    numbers = system_calls.numbers(system_calls.INSPECTED, machine)
    assert VALUES.keys() == RULES.keys()
    for name, tried in VALUES.items():
        ours = {arguments: decide(machine, numbers[name], *arguments) == ALLOW for arguments in tried}
        assert {arguments: judged(machine, name, *arguments) for arguments in tried} == ours, name
        assert set(ours.values()) == {True, False}


@pytest.mark.parametrize("machine", system_calls.MACHINES)
def test_limits_are_the_engine_s_by_either_call(machine: str) -> None:
    """Of its own process: those of the agent it need not protect from itself."""
    number = system_calls.numbers(system_calls.INSPECTED, machine)["prlimit64"]
    tried = [(0, what | upper, new, 1 << 33) for what in (*range(16), 2**32 - 1) for upper in (0, UPPER)
             for new in (0, 1, UPPER, 2**63)]  # fmt: skip
    ours = {arguments: decide(machine, number, *arguments) == ALLOW for arguments in tried}
    assert {arguments: judged(machine, "prlimit64", *arguments) for arguments in tried} == ours
    assert {what & 15 for (_, what, _, _), allowed in ours.items() if not allowed} == {resource.RLIMIT_CORE}


@pytest.mark.parametrize("machine", system_calls.MACHINES)
def test_every_call_that_our_filter_does_not_simply_allow_is_the_engine_s_too(machine: str) -> None:
    asked = json.loads(profile.security(machine)[1].removeprefix("seccomp="))["syscalls"]
    answered = {name for rule in asked if rule.get("errnoRet") == 0 for name in rule["names"]}
    assert answered == {*system_calls.numbers(system_calls.ANSWERED, machine)}
    assert not [name for name in answered if judged(machine, name)]
    looked_at = {rule["names"][0] for rule in asked if "args" in rule} | {"clone3"}
    assert looked_at - {"personality"} == {*system_calls.numbers(system_calls.INSPECTED, machine)} - {
        *profile.INSIDE_ALONE
    }


@pytest.mark.parametrize("machine", system_calls.MACHINES)
def test_what_our_filter_refuses_by_name_the_engine_s_refuses(machine: str) -> None:
    denied = [line.split()[0] for line in system_calls.DENIED.split("\n") if line]
    assert not [name for name in (*denied, "clone3", "no_such_call") if judged(machine, name)]
    assert all(judged(machine, name) for name in ("read", "execve", "prctl", "sched_setaffinity"))
    of_personality = {
        value for value in (0, 8, 0x20000, 0x20008, 0x40000, 2**32 - 1) if judged(machine, "personality", value)
    }
    assert of_personality == {0, 8, 0x20000, 0x20008, 2**32 - 1}


def test_every_allowed_name_is_a_call() -> None:
    library = ctypes.util.find_library("seccomp")
    if library is None:
        pytest.skip("no libseccomp here (Debian: libseccomp2)")
    resolve = ctypes.CDLL(library).seccomp_syscall_resolve_name_arch
    resolve.argtypes, resolve.restype = [ctypes.c_uint32, ctypes.c_char_p], ctypes.c_int
    names = ALLOWED.split()
    assert len(set(names)) == len(names)
    assert not [name for name in names if all(resolve(one, name.encode()) < 0 for one in AUDIT.values())]


def test_a_machine_without_a_table_is_refused_before_a_container_is_made() -> None:
    with pytest.raises(IsolationUnavailable, match="no system-call filter is known for sparc machines"):
        profile.security("sparc")


WITHOUT_A_FILTER = """
import ctypes, errno, resource, struct
libc = ctypes.CDLL(None, use_errno=True)
lines = []
def tried(name, function, *arguments):
    result = function(*[ctypes.c_ulong(one) if isinstance(one, int) else one for one in arguments])
    lines.append(f"{name}={'open' if result >= 0 else errno.errorcode[ctypes.get_errno()]}")
for name, number in NUMBERS.items():
    tried(name, libc.syscall, number, 999, ctypes.create_string_buffer(256), 0, 0, 0)
for family in range(64):
    tried(f"socket {family}", libc.socket, family, 2, 0)
for asked in range(0x5400, 0x5430):
    tried(f"ioctl {asked}", libc.ioctl, 999, asked, 0)
for level in (0, 1, 2):
    for option in range(80):
        tried(f"setsockopt {level} {option}", libc.setsockopt, 999, level, option, 0, 0)
tried("socket upper", libc.syscall, SOCKET, 40 | 1 << 40, 1, 0)
tried("ioctl upper", libc.syscall, IOCTL, 999, 0x5412 | 1 << 40, 0)
for what in LIMITS:
    lines.append(f"limit {what}={resource.getrlimit(what)}")
lines.append(f"sync={libc.syscall(SYNC)}")
lines.append(f"core={libc.syscall(PRLIMIT, 0, 4, struct.pack('QQ', 0, 0), 0)}")
lines.append(f"limit core={resource.getrlimit(4)}")
child = os.fork()
if not child:
    os._exit(0)
lines.append(f"fork={os.waitpid(child, 0)[1]}")
request()
done("\\n".join(lines).encode())
request()
"""


@pytest.fixture
def found(docker: DockerBackend, debian: str) -> dict[str, str]:
    """What a program sees that takes no filter and no limit by itself."""
    machine = docker.engine.machine
    call = system_calls.numbers(system_calls.INSPECTED, machine)
    harmless = ("io_setup", "io_uring_setup", "ptrace", "keyctl", "add_key", "userfaultfd", "bpf", "kcmp")
    numbers = {name: system_calls.numbers(system_calls.DENIED, machine)[name] for name in harmless}
    limits = (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, *agent.FEW)
    known = f"NUMBERS, LIMITS, SOCKET, IOCTL = {numbers}, {limits}, {call['socket']}, {call['ioctl']}\n"
    sync = system_calls.numbers(system_calls.ANSWERED, machine)["sync"]
    known += f"SYNC, PRLIMIT = {sync}, {call['prlimit64']}\n"
    backend = of_its_own_agent(docker, "selfplay-test-no-filter", known + WITHOUT_A_FILTER)
    with contextlib.closing(backend), backend.open(World(), SMALL) as sandbox:
        said = sandbox.run("true", timeout=20).stdout.decode()
    return dict(line.split("=", 1) for line in said.splitlines())


@pytest.mark.docker
def test_an_image_s_own_python_cannot_go_without_filter_and_limits(found: dict[str, str]) -> None:
    """On the code before, vsock, io_uring, ptrace and programs for sockets were open to it, and a crash of it started
    the host's handler."""
    assert (found.pop("sync"), found.pop("core"), found.pop("limit core")) == ("0", "-1", "(1, 1)")
    calls = {name: said for name, said in found.items() if " " not in name and name != "fork"}
    assert set(calls.values()) == {"EPERM"} and found["fork"] == "0"
    machine = platform.machine()
    number = system_calls.numbers(system_calls.INSPECTED, machine)
    for name, arguments in [(name, list(map(int, name.split()[1:]))) for name in found if name[-1].isdigit()]:
        call = name.split()[0]
        if call in number:
            tried = arguments if call == "socket" else [999, *arguments]
            refused = decide(machine, number[call], *tried) != ALLOW
            assert (found[name] == "EPERM") == (refused or name == "socket 17"), name  # packets: no capability
    assert found["socket upper"] == found["ioctl upper"] == "EPERM"
    uid = os.getuid() if os.getuid() else 1
    wanted = {
        resource.RLIMIT_NOFILE: descriptors(uid),
        resource.RLIMIT_FSIZE: SMALL.disk_bytes,
        resource.RLIMIT_CORE: 1,
    }
    wanted |= agent.FEW
    assert {what: found[f"limit {what}"] for what in wanted} == {
        what: str((most, most)) for what, most in wanted.items()
    }


@pytest.mark.docker
@pytest.mark.parametrize(
    ("lost", "message"),
    [
        ("SecurityOpt", "the system-call filter is not the requested one"),
        ("Ulimits", r"the limit nofile is None"),
    ],
)
def test_an_engine_that_leaves_one_out_is_noticed(
    docker: DockerBackend, monkeypatch: pytest.MonkeyPatch, lost: str, message: str
) -> None:
    host = container.host

    def without(plan: container.ContainerPlan) -> Any:
        return {**host(plan), lost: []}

    monkeypatch.setattr(container, "host", without)
    with pytest.raises(IsolationUnavailable, match=message):
        probe(docker)


@pytest.mark.docker
def test_an_engine_without_filters_or_with_a_volume_is_noticed(
    docker: DockerBackend, debian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = DockerBackend(derived(docker.engine, "selfplay-test-a-volume", "VOLUME /data"))
    with contextlib.closing(backend):
        backend.image = dataclasses.replace(backend.image, volumes=())
        with pytest.raises(IsolationUnavailable, match="it keeps /data on the host's disk"):
            probe(backend)
    told: Callable[[], dict[str, Any]] = docker.engine.api.info
    monkeypatch.setattr(docker.engine.api, "info", lambda: {**told(), "SecurityOptions": ["name=apparmor"]})
    with pytest.raises(IsolationUnavailable, match="it applies no system-call filters"):
        probe(docker)
