"""One container's settings, in the engine's form: fully hardened, derived from a world and its limits.

The engine's init is not used: the agent acts as init, and under another init commands could kill any process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.types import HostConfig, LogConfig, Ulimit
from docker.types import Mount as Bind

from selfplay.sandbox import inside, messages
from selfplay.sandbox.docker import profile
from selfplay.sandbox.docker.bootstrap import READER
from selfplay.sandbox.docker.image import Image
from selfplay.sandbox.docker.layers import MergedTree
from selfplay.sandbox.loopback import TCP_RMEM
from selfplay.sandbox.protocol import WORKDIR, Limits, Mount, World
from selfplay.sandbox.ulimits import descriptors

SHARES = {WORKDIR: 1 / 2, "/tmp": 1 / 4, "/dev/shm": 1 / 8, inside.HOME: 1 / 8}
"""Each writable folder is its own tmpfs (an engine cannot put several on one). Together they may hold
`Limits.disk_bytes`, plus the tree that is copied into `/testbed` at the start."""
FOLDERS_SHARE, FIRST_SHARE = 5 / 8, 4 / 5
"""For a world with folders: their share of the disk; and the first folder's share of that, since it holds the most."""
HOSTS = Mount(Path(__file__).with_name("hosts.txt"), "/etc/hosts")
"""The engine leaves this file empty if it makes no network."""
STICKY = ("/tmp", "/dev/shm")
MASKED = (
    *("/sys", "/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats"),
    *("/proc/key-users", "/proc/locks", "/proc/sched_debug", "/proc/softirqs", "/proc/timer_list", "/proc/timer_stats"),
    *("/proc/bus", "/proc/driver", "/proc/dynamic_debug", "/proc/fs", "/proc/irq", "/proc/mpt", "/proc/pressure"),
    *("/proc/scsi", "/proc/tty"),
)
"""Paths that the engine hides by default, all of `/sys`, which describes the host, and the folders of `/proc` that are
the whole machine's; bubblewrap does not show them either."""


@dataclass(frozen=True)
class UsedEngine:
    """The engine's part: the version of its API, its kind of machine, and the runtime to use (None: its default)."""

    version: str
    machine: str
    runtime: str | None = None


@dataclass(frozen=True)
class ContainerPlan:
    """The description of one container. `owner`: the uid and gid inside and outside; `merged`: the tree for `/testbed`;
    `accounts`: files that name the owner inside."""

    world: World
    limits: Limits
    image: Image
    owner: tuple[int, int]
    merged: MergedTree
    engine: UsedEngine
    labels: dict[str, str]
    accounts: tuple[Mount, ...] = ()

    @property
    def largest_file(self) -> int:
        """Bytes of the largest file that may be written inside."""
        return self.limits.disk_bytes + self.merged.disk_bytes


def settings(plan: ContainerPlan) -> dict[str, Any]:
    """The arguments of `create_container`."""
    # The control group limits everything else; the agent never rests.
    agent = messages.SETTINGS.pack(0, plan.largest_file, 0, 0, 0, descriptors(plan.owner[0]))
    return {
        "image": plan.image.name,
        "entrypoint": [plan.image.python, "-I", "-S", "-B", "-c", READER, agent.hex(), messages.FRESH],
        "command": [],
        "user": "{}:{}".format(*plan.owner),
        "working_dir": WORKDIR,
        "hostname": "sandbox",
        "network_disabled": True,  # besides mode none: an empty network costs 95 ms
        "stdin_open": True,  # once: the agent ends when the supervisor closes its end or dies
        "labels": plan.labels,
        "healthcheck": {"test": ["NONE"]},
        "host_config": host(plan),
    }


def host(plan: ContainerPlan) -> HostConfig:
    """The isolating part of the settings."""
    limits = plan.limits
    memory = limits.memory_bytes + plan.merged.disk_bytes
    ceilings = profile.ulimits(plan.largest_file, descriptors(plan.owner[0]))
    made = HostConfig(
        version=plan.engine.version,
        network_mode="none",
        mem_limit=memory,
        memswap_limit=memory,
        nano_cpus=int(limits.cpus * 1e9) if limits.cpus else None,
        pids_limit=limits.processes + 1,  # and the agent
        sysctls={"net.ipv4.tcp_rmem": TCP_RMEM},
        read_only=True,
        tmpfs=volumes(plan) | writable(plan),
        cap_drop=["ALL"],
        security_opt=list(profile.security(plan.engine.machine)),
        ulimits=[Ulimit(name=name, soft=most, hard=most) for name, most in ceilings.items()],
        ipc_mode="private",
        mounts=binds([*plan.image.mounts, HOSTS, *plan.accounts, *plan.world.mounts]),
        log_config=LogConfig(type="none"),
        auto_remove=True,
        runtime=plan.engine.runtime,
    )
    made["MaskedPaths"] = list(MASKED)
    return made


def writable(plan: ContainerPlan) -> dict[str, str]:
    """Writable folder -> options of its tmpfs."""
    places = {}
    uid, gid = plan.owner
    for place, share in shares(plan.world.folders).items():
        size, files = int(plan.limits.disk_bytes * share), int(plan.limits.files * share)
        if place == WORKDIR:
            size, files = size + plan.merged.disk_bytes, files + len(plan.merged.entries)
        mode = "1777" if place in STICKY else "755"
        places[place] = f"rw,exec,nosuid,nodev,size={size},nr_inodes={files},mode={mode},uid={uid},gid={gid}"
    return places


def shares(folders: tuple[str, ...]) -> dict[str, float]:
    """Writable folder -> its share of `Limits.disk_bytes`; the shares add up to 1."""
    if not folders:
        return SHARES
    first, *others = folders
    parts = {place: share * (1 - FOLDERS_SHARE) for place, share in SHARES.items()}
    parts[first] = FOLDERS_SHARE * (FIRST_SHARE if others else 1)
    return parts | {place: FOLDERS_SHARE * (1 - FIRST_SHARE) / len(others) for place in others}


def volumes(plan: ContainerPlan) -> dict[str, str]:
    """A read-only empty tmpfs for each volume that the image declares: on disk it would have no size limit."""
    shown = {mount.target for mount in plan.world.mounts} | set(plan.world.folders)
    return {place: "ro,nosuid,nodev,size=4096,mode=755" for place in plan.image.volumes if place not in shown}


def binds(mounts: Sequence[Mount]) -> list[Bind]:
    """These mounts, and one for each file system that this machine has mounted below one. An engine before 25 makes
    only the place itself read-only, and what comes along below it stays writable; so nothing comes along."""
    places, made = inside.mount_points(), list[Bind]()
    for mount in mounts:
        source = str(mount.source.resolve())
        for place in (source, *(one for one in places if one.startswith(f"{source}/"))):
            bind = Bind(mount.target + place[len(source) :], place, type="bind", read_only=True)
            bind["BindOptions"] = {"NonRecursive": True}
            made.append(bind)
    return made
