"""The resources of this machine, which limit sandboxes, and which `selfplay doctor` prints."""

import os
import platform
import shutil
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from selfplay.sandbox.errors import MachineError
from selfplay.sandbox.kernel_text import kernel_text
from selfplay.sandbox.protocol import MIB, Limits

SHARE = 0.9
"""The share of the memory for sandboxes; the rest is for the supervisor and the system."""


class LimitsTooLarge(MachineError):
    """One sandbox's limits exceed the machine."""


@dataclass(frozen=True)
class Machine:
    """What this process may use, in bytes and counts, including the limits of a container around it."""

    kernel: str
    architecture: str
    system: str
    user: str
    cores: int
    memory_bytes: int
    memory_free_bytes: int
    cgroup_version: str
    in_container: bool

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def machine() -> Machine:
    """This machine as it is now."""
    memory = psutil.virtual_memory()
    return Machine(
        kernel=os.uname().release,
        architecture=platform.machine(),
        system=distribution(),
        user="root" if os.geteuid() == 0 else f"uid {os.geteuid()}",
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=memory_bytes(),
        memory_free_bytes=memory.available,
        cgroup_version=cgroup_version(),
        in_container=any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv")),
    )


def memory_bytes() -> int:
    return min([psutil.virtual_memory().total, *memory_ceilings()])


@cache
def check(limits: Limits) -> None:
    """Raises `LimitsTooLarge`, naming the first of `limits` that exceeds this machine. What fits is asked once: to ask
    the machine takes as long as a command."""
    most = {
        "memory_bytes": memory_bytes(),
        "processes": int(kernel_text("/proc/sys/kernel/pid_max")),
        "cpus": os.cpu_count() or 1,
    }
    for name, value in most.items():
        if (getattr(limits, name) or 0) > value:
            raise LimitsTooLarge(
                f"a sandbox of {name}={getattr(limits, name)} exceeds this machine, which has {value}",
                "Ask for less, or use a larger machine.",
            )


def fitting(limits: Limits) -> Limits:
    """`limits`, with at most the memory that this machine can give one sandbox."""
    return replace(limits, memory_bytes=min(limits.memory_bytes, int(machine().memory_bytes * SHARE)))


def free_disk_bytes(folder: Path) -> int:
    """The bytes that can still be written below `folder`, or below its nearest existing parent."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return platform.system()


def cgroup_version() -> str:
    """2 for the unified hierarchy, 1 if controllers have their own hierarchies, none if nothing is mounted."""
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        return "2"
    return "1" if Path("/sys/fs/cgroup/memory").exists() else "none"


def memory_ceilings() -> list[int]:
    """The memory limits of this process's control group and of those around it, as seen from inside."""
    found = []
    for folder in own_groups(kernel_text("/proc/self/cgroup"), Path("/sys/fs/cgroup")):
        for path in (folder / "memory.max", folder / "memory.limit_in_bytes"):
            if path.exists() and (text := kernel_text(path).strip()).isdecimal():
                found.append(max(int(text), MIB))
    return found


def own_groups(listed: str, root: Path) -> list[Path]:
    """The folders of the groups that count a process's memory, the outermost first. `listed`: its `/proc/PID/cgroup`;
    `root`: where they are mounted."""
    found = []
    for line in filter(None, listed.split("\n")):
        number, controllers, path = line.split(":", 2)
        if number == "0" or "memory" in controllers.split(","):
            base = root if number == "0" else root / "memory"
            inner = [] if ".." in path.split("/") else [part for part in path.split("/") if part]
            found += [base.joinpath(*inner[:depth]) for depth in range(len(inner) + 1)]
    return found
