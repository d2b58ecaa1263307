"""What a sandbox's process does between its fork and bwrap, in the order that losing privileges requires.

In two halves: what every sandbox needs, which a process can do before anybody asks for a sandbox, and what this one is
for. Part of the launcher, which sends it along.
"""

import contextlib
import os
from typing import Any

from selfplay.sandbox.loopback import own_network
from selfplay.sandbox.mounting import (
    MNT_DETACH,
    MS_NODEV,
    MS_NOSUID,
    MS_REMOUNT,
    attach,
    bind,
    call,
    mapped,
    mount,
    own_devices,
    own_file_system,
    user_namespace,
    write,
)

HOST, SHELF = "/host", "/shelf"
WRITABLE = ("upper", "work", "tmp", "shm", "home")
AGENT_FD = 101
CLONE_NEWNS, CLONE_NEWCGROUP = 0x20000, 0x2000000
FIRST_SIZE = "size=65536,nr_inodes=64"
"""Of the shelf until it is known who uses it: enough for the folders on it."""
PER_USER = {"max_inotify_instances": b"32", "max_inotify_watches": b"8192"}
"""What one sandbox of an ordinary user may use of what the kernel counts for the user."""


def begin(overlaid: list[str]) -> None:
    """The first half: a network, mounts, a shelf and devices of its own. `overlaid`: the folders of the system part of
    which each sandbox has a file system of its own."""
    os.umask(0o022)
    own_network()
    call("unshare", CLONE_NEWNS)
    mount("writable", SHELF, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=755,{FIRST_SIZE}")
    for name in (*WRITABLE, "empty"):
        os.mkdir(f"{SHELF}/{name}")
    for name in ("tmp", "shm"):
        os.chmod(f"{SHELF}/{name}", 0o1777)
    own_devices(f"{SHELF}/dev", f"{SHELF}/shm")
    for place in overlaid:
        own_file_system(place, f"{SHELF}/empty")


def finish(request: dict[str, Any], space: int | None) -> None:
    """The second half, for what `request` asks: groups, sizes, sources, and the loss of all privileges. `space`: a user
    namespace that maps the files' owner to the sandbox's own."""
    if request["groups"]:
        enter_groups(request["groups"], request["agents"])
    size = f"size={request['disk_bytes']},nr_inodes={request['files']}"
    mount("writable", SHELF, "tmpfs", MS_NOSUID | MS_NODEV | MS_REMOUNT, size)
    folders = [f"folder.{number}" for number in range(request["folders"])]
    for name in folders:
        os.mkdir(f"{SHELF}/{name}")
    sources = {name: HOST + source for name, source in request["sources"].items()}
    alone = show(sources, request["shared"], space)
    for place in request["overlaid"]:
        own_file_system(place, f"{SHELF}/empty")
    call("umount2", HOST.encode(), MNT_DETACH)
    if request["shared"]:
        uid = gid = request["own"] if alone else request["shared"]
        for name in (*WRITABLE, *folders):
            os.chown(f"{SHELF}/{name}", uid, gid)
        drop(uid, gid)
    else:
        user_namespace()
        for name, most in PER_USER.items():
            with contextlib.suppress(OSError):
                write(f"/proc/sys/user/{name}", most)


def drop(uid: int, gid: int) -> None:
    """Give up root privileges permanently."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid, uid, uid) or os.getresgid() != (gid, gid, gid):
        raise PermissionError(f"still uid {os.getuid()}")


def enter_groups(commands: list[str], agents: list[str]) -> None:
    """Enter the agents' groups and a namespace that shows the commands' groups as root. Their entry files stay open for
    the agent: since we opened them, it may send its children through."""
    doors = [os.open(HOST + door, os.O_WRONLY | os.O_CLOEXEC) for door in commands]
    for door in doors:
        os.write(door, b"0")
    call("unshare", CLONE_NEWCGROUP)
    for entry in agents:
        write(HOST + entry, b"0")
    for number, door in enumerate(doors):
        os.dup2(door, AGENT_FD + 1 + number)


def show(sources: dict[str, str], shared: int, space: int | None) -> bool:
    """Show the sources on the shelf; files of the sandboxes' common owner `shared` appear as `space` maps them. Returns
    whether that worked: if it fails for one source, all are shown unmapped."""
    found = {}
    try:
        if space is not None:
            for name, source in sources.items():
                if name.startswith("tree.") or os.stat(source).st_uid == shared:
                    found[name] = mapped(source, space)
    except OSError:
        for descriptor in found.values():
            os.close(descriptor)
        found, space = {}, None
    for name, source in sources.items():
        if name in found:
            attach(found[name], source, f"{SHELF}/{name}")
        else:
            bind(source, f"{SHELF}/{name}")
    return space is not None
