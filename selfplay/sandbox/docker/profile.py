"""The system-call filter and the resource limits that the engine itself applies to a container.

The entry takes on the same filter inside, and the agent the same limits. But with a user's image both run on the
image's own Python, which need not do so. So the engine is told too, in its own form, before any program of the image
runs. What protects the agent from commands is left to the filter inside: an agent of the image's own needs no
protection from itself. Installing a filter stays allowed, because the entry does that; the filter inside closes it.
"""

import errno
import functools
import json
import resource
from collections.abc import Iterator
from typing import Any

from selfplay.sandbox import agent, seccomp, system_calls
from selfplay.sandbox.docker.allowed_calls import ALLOWED, DEFAULT_PERSONALITIES
from selfplay.sandbox.launcher import NO_CORE
from selfplay.sandbox.seccomp import ArgumentRule

ARCHITECTURES = {"x86_64": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X32"], "aarch64": ["SCMP_ARCH_AARCH64"]}
"""x32 calls are judged by name like the others; those of 32-bit machines kill the process."""
INSIDE_ALONE = ("ioprio_set", "prctl", "sched_setattr", "setpriority", *seccomp.SCHEDULING)
"""Calls that only the filter inside inspects."""
BITS, WHOLE, POINTER = 32, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
NO_PRIVILEGES = "no-new-privileges"
PERSONALITY = ArgumentRule(0, only=DEFAULT_PERSONALITIES)
LIMITS = seccomp.RULES["setrlimit"]
"""Which limits a process may not change; `prlimit64` does the same, and asks without a new one."""
ULIMITS = {
    resource.RLIMIT_SIGPENDING: "sigpending",
    resource.RLIMIT_MSGQUEUE: "msgqueue",
    resource.RLIMIT_MEMLOCK: "memlock",
}


@functools.cache
def security(machine: str) -> tuple[str, ...]:
    """The container's `SecurityOpt`. Raises `IsolationUnavailable` for a machine whose system calls are not known."""
    architectures = ARCHITECTURES[seccomp.known(machine)]
    calls: list[dict[str, Any]] = [{"names": [*ALLOWED.split(), *INSIDE_ALONE], "action": "SCMP_ACT_ALLOW"}]
    for name, rule in {**seccomp.RULES, "personality": PERSONALITY}.items():
        calls += allowed(name, alternatives(rule))
    calls += allowed("prlimit64", [[masked(1, *part)] for part in beside(LIMITS.never)])
    calls += allowed("prlimit64", [[masked(1, WHOLE, what), masked(2, POINTER, 0)] for what in LIMITS.never])
    answered = [*system_calls.numbers(system_calls.ANSWERED, machine)]
    calls.append({"names": answered, "action": "SCMP_ACT_ERRNO", "errnoRet": 0})
    calls.append({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS})
    filter_of = {
        "defaultAction": "SCMP_ACT_ERRNO",
        "architectures": architectures,
        "syscalls": calls,
    }
    return NO_PRIVILEGES, f"seccomp={json.dumps(filter_of)}"


def allowed(name: str, ways: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The rules that allow a call where all tests of one of the `ways` hold."""
    return [{"names": [name], "action": "SCMP_ACT_ALLOW", "args": tests} for tests in ways]


def alternatives(rule: ArgumentRule) -> list[list[dict[str, Any]]]:
    """The conditions under which a call is allowed, any of them: each a list of tests that all must hold."""
    if rule.no_bit_of:
        return [[masked(rule.argument, rule.no_bit_of, 0)]]
    if rule.only:
        return [[masked(rule.argument, WHOLE, value)] for value in rule.only]
    others = [[masked(rule.argument, *part)] for part in beside(rule.never + rule.ignored)]
    if rule.level is None:
        return others
    elsewhere = [[masked(1, *part)] for part in beside((rule.level,))]
    return elsewhere + [[masked(1, WHOLE, rule.level), *tests] for tests in others]


def masked(argument: int, mask: int, value: int) -> dict[str, Any]:
    """The argument's bits below `mask` are those of `value`. Other comparisons of an engine look at the upper half too,
    which the kernel ignores: whoever sets it would pass them."""
    return {"index": argument, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


def beside(values: tuple[int, ...], prefix: int = 0, width: int = BITS) -> Iterator[tuple[int, int]]:
    """Masks and values that together match every number but these: an engine's rules know no "none of"."""
    if not values:
        yield WHOLE >> width << width, prefix
    elif width:
        for bit in (0, 1):
            below = tuple(value for value in values if value >> (width - 1) & 1 == bit)
            yield from beside(below, prefix | bit << (width - 1), width - 1)


def ulimits(largest_file: int, descriptors: int) -> dict[str, int]:
    """Name of a limit -> its value, as the agent sets them too."""
    fixed = {"nofile": descriptors, "fsize": largest_file, "core": NO_CORE}
    return fixed | {name: agent.FEW[what] for what, name in ULIMITS.items()}
