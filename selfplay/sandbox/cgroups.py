"""Limits memory, processes and CPU of a whole sandbox by control groups, v1 or v2, if this process may create them.

If it may not (an ordinary user without delegation), `find` returns None, and memory is limited only per process; the
backend reports that. A group is a folder below one named after this process and its pid namespace. So the next
supervisor in that namespace finds and removes what a killed one left; from another namespace one cannot know whether a
process is alive.
"""

import itertools
import os
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from selfplay.errors import in_words
from selfplay.sandbox.cgroup_places import AGENTS, CONTROLLERS, enable, make_agents, mounts, remove, usable
from selfplay.sandbox.errors import MachineError
from selfplay.sandbox.kernel_text import kernel_lines, kernel_text
from selfplay.sandbox.owners import marked
from selfplay.sandbox.protocol import MIB, Limits

PERIOD_US = 100_000
INSTANCES = itertools.count()
OPTIONAL = ("sw", "kmem.tcp")
EVENTS = "memory.events"
"""Of v2."""


@dataclass
class Cgroups:
    """The folders in which a sandbox's groups are created, by controller; under v2 all controllers share one."""

    version: int
    folders: dict[str, Path]
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def entry_file(self) -> str:
        """A process enters a group by writing `0` into this file. Under v1 it is the per-thread file, which avoids a
        kernel lock that costs 15 ms."""
        return "tasks" if self.version == 1 else "cgroup.procs"

    @property
    def agent_files(self) -> tuple[str, ...]:
        """The files through which an agent enters the group of all agents, which has no limits."""
        return tuple(sorted({str(folder / AGENTS / self.entry_file) for folder in self.folders.values()}))

    def create(self, limits: Limits) -> "ControlGroup":
        """A new group with these limits. Raises `MachineError` naming the file that could not be written."""
        name = str(next(self._numbers))
        folders = tuple(sorted({folder / name for folder in self.folders.values()}))
        group = ControlGroup(folders, tuple(str(folder / self.entry_file) for folder in folders))
        try:
            for folder in group.folders:
                self.keep(folder.parent)
                folder.mkdir()
            for controller, settings in self.settings(limits).items():
                for file, value in settings.items():
                    write(self.folders[controller] / name / file, value)
        except OSError as error:
            group.close()
            raise MachineError(f"the control group cannot be made: {in_words(error)}") from error
        return group

    def keep(self, folder: Path) -> None:
        """Create our own folder again if another supervisor removed it as a leftover."""
        if not (folder / AGENTS).exists():
            folder.mkdir(exist_ok=True)
            if self.version == 2:
                enable(folder, "memory")
            make_agents(folder)

    def settings(self, limits: Limits) -> dict[str, dict[str, str]]:
        """Controller -> file -> value. `write` tolerates files that a kernel lacks."""
        processes = str(limits.processes + (self.version == 1))  # v1 includes the agent's thread
        memory, quota = str(limits.memory_bytes), int((limits.cpus or 0) * PERIOD_US)
        if self.version == 1:
            wanted = {
                "memory": {
                    "memory.limit_in_bytes": memory,
                    "memory.memsw.limit_in_bytes": memory,
                    "memory.kmem.tcp.limit_in_bytes": str(limits.socket_bytes),  # v2 counts it in memory.max
                },
                "pids": {"pids.max": processes},
                "cpu": {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(quota)} if quota else {},
            }
        else:
            wanted = {
                "memory": {"memory.max": memory, "memory.swap.max": "0"},
                "pids": {"pids.max": processes},
                "cpu": {"cpu.max": f"{quota} {PERIOD_US}"} if quota else {},
            }
        return {controller: files for controller, files in wanted.items() if controller in self.folders}

    def mismatch(self, group: "ControlGroup", limits: Limits) -> str:
        """The first limit of `group` that is not as requested; empty if all are."""
        for controller, files in self.settings(limits).items():
            folder = next(path for path in group.folders if path.parent == self.folders[controller])
            for file, value in files.items():
                found = kernel_text(folder / file).strip() if (folder / file).exists() else value
                if found != value:
                    return f"{file} is {found}, not {value}"
        return ""

    def close(self) -> None:
        """Remove the folders; their groups must be gone."""
        for folder in set(self.folders.values()):
            remove(folder / AGENTS)
            remove(folder)


@dataclass(frozen=True)
class ControlGroup:
    """The group of one sandbox's commands; its agent is not in it. `entry_files`: see `Cgroups.entry_file`."""

    folders: tuple[Path, ...]
    entry_files: tuple[str, ...]

    def holds(self, pid: int) -> bool:
        """Whether the process is in any of the group's folders."""
        return any(str(pid) in kernel_text(folder / "cgroup.procs").split() for folder in self.folders)

    def memory_kills(self) -> int:
        """How often the kernel has killed a process of the group for want of memory, its own or the machine's; 0 if it
        does not count."""
        return self._counted(b"oom_kill")

    def limits_met(self) -> int:
        """How often the group has met its own limit and could free nothing; 0 under v1, which does not count."""
        return self._counted(b"oom") if self._kills_path.endswith(EVENTS) else 0

    def forget_peak(self) -> None:
        """Start anew what v1 remembers of the group's memory, so that it tells about one request."""
        if self._peak_file:
            with suppress(OSError):
                file = os.open(self._peak_file, os.O_WRONLY | os.O_CLOEXEC)
                try:
                    os.write(file, b"0")
                finally:
                    os.close(file)

    def met_memory_limit(self, before: int) -> bool:
        """Whether the group has met its own limit since it had done so `before` times (v2), or since the peak was
        forgotten (v1, which counts files that were read, too): a machine or a group around it without memory kills,
        too."""
        if self.limits_met() > before:
            return True
        most, limit = (self._number(f"memory.{name}_in_bytes") for name in ("max_usage", "limit"))
        return bool(limit) and most + MIB > limit

    def _counted(self, event: bytes) -> int:
        """How often the kernel has counted this event."""
        found = content(self._kills_path).partition(b"\n%s " % event)[2].split(None, 1)
        return int(found[0]) if found else 0

    @cached_property
    def _kills_path(self) -> str:
        """Which kernel has which is asked once: the number is read before each command."""
        known = (one / name for name in (EVENTS, "memory.oom_control") for one in self.folders)
        return next((str(file) for file in known if file.exists()), "")

    @cached_property
    def _peak_file(self) -> str:
        found = (one / "memory.max_usage_in_bytes" for one in self.folders)
        return next((str(file) for file in found if file.exists()), "")

    def _number(self, file: str) -> int:
        """The number in a file of the group; 0 if there is none."""
        for folder in self.folders:
            with suppress(OSError):
                return int((folder / file).read_text("ascii"))
        return 0

    def close(self) -> None:
        """Remove the group. Its processes are dead, but the kernel may take a moment to notice."""
        for folder in self.folders:
            remove(folder)


def content(path: str) -> bytes:
    """What a small file of the kernel's says; empty if it cannot be read. For what is read before each command."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(file, 4096)
    except OSError:
        return b""
    finally:
        os.close(file)


def write(path: Path, value: str) -> None:
    """Set one limit. A limit that this kernel lacks (swap, sockets) is not an error."""
    if path.exists() or not any(word in path.name for word in OPTIONAL):
        path.write_text(value)


def find() -> Cgroups | None:
    """The groups that this process may create; None if it may not limit memory. Removes what dead supervisors left."""
    memberships = [line.split(":", 2) for line in kernel_lines("/proc/self/cgroup")]
    own = {controller: path for _, names, path in memberships for controller in names.split(",")}
    mounted = mounts()
    name = f"{marked()}{next(INSTANCES)}"
    folders = {}
    for controller in CONTROLLERS:
        if controller in own and controller in mounted:
            folder = usable(mounted[controller], own[controller], name, controller="")
            if folder is not None:
                folders[controller] = folder
    if "memory" in folders:
        return Cgroups(1, folders)
    unified = usable(mounted[""], own[""], name, controller="memory") if "" in own and "" in mounted else None
    if unified is None:
        return None
    offered = kernel_text(unified / "cgroup.controllers").split()
    return Cgroups(2, {controller: unified for controller in CONTROLLERS if controller in offered})
