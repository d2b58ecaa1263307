"""Finds where control groups can be made on this machine: mounts, our own folder in them, and groups of dead
supervisors."""

import contextlib
import os
import signal
import time
from pathlib import Path

from selfplay.sandbox.kernel_text import kernel_text, mount_table
from selfplay.sandbox.owners import left_in

CONTROLLERS = ("memory", "pids", "cpu")
AGENTS = "agents"
"""The folder of all agents' group, inside ours."""
MOST_CPU = {"cpu.shares": "262144", "cpu.weight": "10000"}  # v1, v2
GONE_SECONDS = 2.0


def remove(folder: Path) -> None:
    deadline = time.monotonic() + GONE_SECONDS
    while time.monotonic() < deadline:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.001)
        else:
            return


def mounts() -> dict[str, tuple[Path, str]]:
    """Controller -> (mount point, the group that it shows as its root); v2 under the empty name."""
    found = {}
    for one in mount_table():
        if one.kind == "cgroup2":
            found[""] = (Path(one.place), one.root)
        elif one.kind == "cgroup":
            found |= {option: (Path(one.place), one.root) for option in one.options if option in CONTROLLERS}
    return found


def usable(mounted: tuple[Path, str], own: str, name: str, controller: str) -> Path | None:
    """A folder of ours in our own group, or in the nearest ancestor that allows it. Under v2, `controller` must be
    enabled there."""
    place, root = mounted
    if own != root and not own.startswith(root.rstrip("/") + "/"):
        return None
    base = place / own[len(root.rstrip("/")) :].lstrip("/")
    while True:
        with contextlib.suppress(OSError):
            return claim(base, name, controller)
        if base == place:
            return None
        base = base.parent


def claim(base: Path, name: str, controller: str) -> Path:
    """Create our folder in `base`, with `controller` (v2) enabled for its children. Raises `OSError` if refused."""
    sweep(base)
    if controller:
        enable(base, controller)
    folder = base / name
    folder.mkdir()
    try:
        if controller:
            enable(folder, controller)
        make_agents(folder)
    except OSError:
        folder.rmdir()
        raise
    return folder


def make_agents(folder: Path) -> None:
    """Create the agents' group, without limits: agents do little, and commands must not slow them down."""
    agents = folder / AGENTS
    agents.mkdir(exist_ok=True)
    for name, value in MOST_CPU.items():
        if (agents / name).exists():
            (agents / name).write_text(value)


def enable(folder: Path, needed: str) -> None:
    """Let the children of a v2 group be limited. Raises `OSError` if `needed` is not possible; the other controllers
    are optional."""
    control = folder / "cgroup.subtree_control"
    for controller in CONTROLLERS:
        if controller in kernel_text(control).split():
            continue
        try:
            control.write_text(f"+{controller}")
        except OSError:
            if controller == needed:
                raise


def sweep(base: Path) -> None:
    """Kill the processes that dead supervisors left in their groups, and remove the groups."""
    for folder in left_in(base):
        with contextlib.suppress(OSError):
            for group in folder.iterdir():
                if group.is_dir():
                    kill(group)
                    remove(group)
            folder.rmdir()


def kill(group: Path) -> None:
    """Kill a group's processes. They die with their supervisor too, but not at once; this saves the next supervisor a
    wait."""
    for pid in kernel_text(group / "cgroup.procs").split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
