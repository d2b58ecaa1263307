"""What the host knows of one sandbox, whatever isolates it, and what of that is left after its end."""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.sandbox import Backend

PATIENCE_SECONDS = 10.0


@dataclass(frozen=True)
class Traces:
    """Namespaces by their kernel names, control groups by folder, words that the host's mount table may hold."""

    pid: int
    namespaces: dict[str, str]
    groups: tuple[Path, ...]
    mounts: tuple[str, ...]


def traces(backend: Backend, sandbox: Any) -> Traces:
    """Of a live sandbox."""
    words: tuple[str, ...] = ()
    own: tuple[Path, ...] = ()
    if backend.name == "docker":
        said = backend.engine.api.inspect_container(sandbox.id)  # type: ignore[attr-defined]
        pid = said["State"]["Pid"]
        words = (sandbox.id, said["GraphDriver"]["Data"]["MergedDir"])
    else:
        pid = sandbox.hello.pid
        own = sandbox.group.folders if sandbox.group else ()  # the agent is in that of all agents
    spaces = {kind: str(Path(f"/proc/{pid}/ns/{kind}").readlink()) for kind in ("pid", "mnt", "net", "ipc")}
    assert not spaces.items() & {(kind, str(Path(f"/proc/self/ns/{kind}").readlink())) for kind in spaces}
    return Traces(pid, spaces, own or groups(pid), words)


def groups(pid: int) -> tuple[Path, ...]:
    """The control groups a process is in and we are not."""
    places = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ", 1)
        kind, _, options = after.split()[:3]
        if kind in ("cgroup", "cgroup2"):
            root, place = before.split()[3:5]
            for name in options.split(",") if kind == "cgroup" else [""]:
                places[name] = (Path(place), root)
    found = set()
    for line in set(memberships(pid)) - set(memberships("self")):
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            place, root = places.get(name, (None, ""))
            if place is not None:
                found.add(place / path.removeprefix(root.rstrip("/")).lstrip("/"))
    return tuple(sorted(found))


def memberships(pid: int | str) -> list[str]:
    return Path(f"/proc/{pid}/cgroup").read_text().splitlines()


def ticks() -> int:
    """This moment as the kernel dates processes: hundredths of a second since the start of the machine."""
    return int(float(Path("/proc/uptime").read_text().split()[0]) * os.sysconf("SC_CLK_TCK"))


def members(kind: str, namespace: str, before: int) -> list[int]:
    """Processes in a namespace that were started before that moment: the kernel gives a number again at once. One
    that only waits to be reaped is in none any more."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and str((entry / "ns" / kind).readlink()) == namespace:
                started = int((entry / "stat").read_text().rpartition(")")[2].split()[19])
                found += [int(entry.name)] if started <= before else []
    return found


def left(of: Traces, ended: int) -> list[str]:
    """What the host still has of a sandbox that was ended at that moment, in words."""
    found = [f"{kind}: process {pid}" for kind, name in of.namespaces.items() for pid in members(kind, name, ended)]
    found += [f"control group {folder}" for folder in of.groups if folder.exists()]
    table = Path("/proc/self/mounts").read_text()
    return found + [f"a mount of {word}" for word in of.mounts if word in table]


def left_in_the_end(of: Traces, ended: int) -> list[str]:
    """What is left of a sandbox whose end began at that moment, once kernel and engine had time to tidy up."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := left(of, ended)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found
