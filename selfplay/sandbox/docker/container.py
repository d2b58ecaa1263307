"""One container's settings, as the engine wants them: all the hardening there is, from a world and its limits."""

from pathlib import Path
from typing import Any

from docker.types import HostConfig, LogConfig
from docker.types import Mount as Bind

from selfplay.sandbox import inside, messages
from selfplay.sandbox.docker.bootstrap import READER
from selfplay.sandbox.docker.image import Image
from selfplay.sandbox.protocol import WORKDIR, Limits, Mount, World

SHARES = {WORKDIR: 1 / 2, "/tmp": 1 / 4, "/dev/shm": 1 / 8, inside.HOME: 1 / 8}
"""Each writable place is a tmpfs of its own (an engine cannot put several on one), and together they may hold
`Limits.disk_bytes`; the tree that is copied into `/testbed` at the start does not count."""
HOSTS = Mount(Path(__file__).with_name("hosts.txt"), "/etc/hosts")
"""The engine leaves that file empty where it makes no network."""
STICKY = ("/tmp", "/dev/shm")
MASKED = (
    *("/sys", "/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats"),
    *("/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats"),
)
"""What the engine hides by default, and all of `/sys`, which tells of the host and which bubblewrap does not show."""


def settings(
    world: World,
    limits: Limits,
    image: Image,
    owner: tuple[int, int],
    tree_bytes: int,
    labels: dict[str, str],
    runtime: str | None,
    version: str,
) -> dict[str, Any]:
    """Arguments of `create_container`. `tree_bytes`: what the tree takes in `/testbed`; `version`: of the API."""
    ceilings = messages.LIMITS.pack(0, limits.disk_bytes + tree_bytes, 0)  # the rest is held by the control group
    return {
        "image": image.name,
        "entrypoint": [image.python, "-I", "-S", "-B", "-c", READER, ceilings.hex()],
        "command": [],
        "user": f"{owner[0]}:{owner[1]}",
        "working_dir": WORKDIR,
        "hostname": None if world.network else "sandbox",
        "network_disabled": not world.network,  # beside mode none: without it the engine spends 95 ms on an empty one
        "stdin_open": True,  # once: the agent ends when the supervisor, alive or not, lets go of its end
        "labels": labels,
        "healthcheck": {"test": ["NONE"]},
        "host_config": host(world, limits, image, owner, tree_bytes, runtime, version),
    }


def host(
    world: World,
    limits: Limits,
    image: Image,
    owner: tuple[int, int],
    tree_bytes: int,
    runtime: str | None,
    version: str,
) -> HostConfig:
    """The part of the settings that isolates."""
    memory = limits.memory_bytes + tree_bytes
    made = HostConfig(
        version=version,
        network_mode="host" if world.network else "none",
        mem_limit=memory,
        memswap_limit=memory,
        nano_cpus=int(limits.cpus * 1e9) if limits.cpus else None,
        pids_limit=limits.processes + 1,  # and the agent
        read_only=True,
        tmpfs=writable(limits.disk_bytes, tree_bytes, owner),
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        ipc_mode="private",
        mounts=[bind(mount) for mount in (*image.mounts, *(() if world.network else (HOSTS,)), *world.mounts)],
        log_config=LogConfig(type="none"),
        auto_remove=True,
        runtime=runtime,
    )
    made["MaskedPaths"] = list(MASKED)
    return made


def writable(disk_bytes: int, tree_bytes: int, owner: tuple[int, int]) -> dict[str, str]:
    """Place -> options of its tmpfs."""
    places = {}
    for place, share in SHARES.items():
        size = int(disk_bytes * share) + (tree_bytes if place == WORKDIR else 0)
        mode = "1777" if place in STICKY else "755"
        places[place] = f"rw,exec,nosuid,nodev,size={size},mode={mode},uid={owner[0]},gid={owner[1]}"
    return places


def bind(mount: Mount) -> Bind:
    return Bind(mount.target, str(mount.source.resolve()), type="bind", read_only=not mount.writable)
