"""What a sandbox sees: the system part, which is the same for all, and one bwrap command line for the rest.

Programs, libraries and certificates are the host's, read-only. Of `/etc` only what programs need is shown, without
names of the host's users or its secrets. All writable folders (`/testbed`, `/tmp`, `/dev/shm`, the home) lie on one
tmpfs of `Limits.disk_bytes`.
"""

import itertools
import os
import stat
from functools import cache
from pathlib import Path
from typing import Any

from selfplay.sandbox import messages
from selfplay.sandbox.errors import WorldRefused
from selfplay.sandbox.kernel_text import mount_table
from selfplay.sandbox.launcher import SECCOMP_FD
from selfplay.sandbox.own_root import FIXED
from selfplay.sandbox.preparing import AGENT_FD, SHELF
from selfplay.sandbox.programs import Programs, python_folders
from selfplay.sandbox.protocol import SYSTEM_PATH, WORKDIR, Limits, World

HOME = "/home/sandbox"
ROOTS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
WHOLE = ("/etc/alternatives", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted")
COPIED = (
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/openssl.cnf",
)
FILES = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"
    f"sandbox:x:1000:1000:sandbox:{HOME}:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
    "/etc/group": "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "/etc/resolv.conf": "",
}
SHOWN = ("sys", "sysvipc")
"""The folders of `/proc` besides those of processes. Not, for example, `pressure`, where anyone may write and each
close waits for the kernel, nor `fs`, where a file is read under the lock of a whole file system."""
LOCKS, KEYS = "/proc/locks", "/proc/keys"
"""The first lists the whole machine's, and while it is read no file lock goes on anywhere. The second names a user's
keys, and so their servers; root's sandboxes have uids without keys, and another mount is a hundredth of a start."""
READER = "import marshal, sys; exec(marshal.loads(open(sys.argv[1], 'rb').read()[16:]))"
"""Runs the agent's program, a `.pyc`; an interpreter that is given a file first looks whether it is an archive."""
NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts")
HARDENING = (
    *("--disable-userns", "--die-with-parent", "--new-session", "--clearenv", "--as-pid-1", "--cap-drop", "ALL"),
    *("--uid", "1000", "--gid", "1000", "--hostname", "sandbox"),
)


def check(world: World) -> None:
    """Raises `WorldRefused` for a world that cannot be mounted, before anything is started."""
    for source in itertools.chain(world.tree, (mount.source for mount in world.mounts)):
        if not source.exists():
            raise WorldRefused(f"{source} does not exist, so no sandbox can show it")
    for source in world.tree:
        if not source.is_dir():
            raise WorldRefused(f"{source} is not a folder, so it cannot be a layer of {WORKDIR}")
    for mount in world.mounts:
        if not mount.target.startswith("/") or ".." in mount.target.split("/"):
            raise WorldRefused(f"{mount.target!r} is not an absolute path to mount {mount.source} on")
    for place in world.folders:
        if not place.startswith("/") or ".." in place.split("/") or world.folders.count(place) > 1:
            raise WorldRefused(f"{place!r} is not an absolute path for a folder of its own")


def system_part(programs: Programs) -> dict[str, Any]:
    """The parts that the launcher assembles once: path -> host path to bind or to copy, text to write, or link target;
    folders to make first; and `overlaid`, the folders of which each sandbox has a file system of its own. One in which
    this machine has mounted something would lose that."""
    roots = [Path("/", name) for name in ROOTS]
    shown = [Path("/usr"), *(path for path in roots if path.is_dir() and not path.is_symlink())]
    binds = {str(path): str(path) for path in (*shown, Path("/proc"), Path("/dev"))}
    binds |= {FIXED + place: str(source) for place, source in programs.bwrap_files.items()}
    binds |= {f"{FIXED}/python/{place.name}": str(place) for place in python_folders(programs.python_prefix)}
    copies = {name: str(Path(name).resolve()) for name in COPIED if is_for_all(Path(name))}
    links = {str(path): str(path.readlink()) for path in roots if path.is_symlink()}
    folders = [folder for name in WHOLE for folder in copied_folder(Path(name), copies, links)]
    pythons = [name for name in binds if name.startswith(f"{FIXED}/python/")]
    own = ["/etc", *(place for place in (*map(str, shown), *pythons) if not mounted_below(binds[place]))]
    return {"binds": binds, "copies": copies, "files": FILES, "links": links, "folders": folders, "overlaid": own}


def copied_folder(folder: Path, copies: dict[str, str], links: dict[str, str]) -> list[str]:
    """Add all that is in a folder of the host to what is copied and linked; returns it and the folders in it."""
    found = []
    for at, folders, names in os.walk(folder):
        found.append(at)
        for path in (Path(at, name) for name in (*folders, *names)):
            if path.is_symlink():
                links[str(path)] = str(path.readlink())
            elif path.is_file() and is_for_all(path):
                copies[str(path)] = str(path)
    return found


def is_for_all(file: Path) -> bool:
    """Whether every user of the machine may read a file: root copies for sandboxes what they could read themselves, and
    a server's key may lie beside its certificate."""
    real = file.resolve()
    open_to_all = all(folder.stat().st_mode & stat.S_IXOTH for folder in real.parents)
    return real.is_file() and open_to_all and bool(real.stat().st_mode & stat.S_IROTH)


def sources(world: World) -> dict[str, str]:
    """Name on the shelf -> host path without symbolic links, for everything in this world."""
    paths = {f"tree.{i}": path for i, path in enumerate(world.tree)}
    paths |= {f"mount.{i}": mount.source for i, mount in enumerate(world.mounts)}
    return {name: str(path.resolve()) for name, path in paths.items()}


def overlaid(world: World) -> list[str]:
    """The places on the shelf of the folders of which the sandbox has a file system of its own."""
    return [f"{SHELF}/mount.{i}" for i, mount in enumerate(world.mounts) if mount.own]


def environment(world: World) -> dict[str, str]:
    """The world's environment, plus the three variables that every program needs."""
    return {"PATH": SYSTEM_PATH, "HOME": HOME, "LANG": "C.UTF-8", **world.env}


def agent_settings(limits: Limits, groups: int, descriptors: int, rest_seconds: float) -> str:
    """The agent's start settings. `groups`: the number of control groups that its commands enter; if 0, each process's
    data is limited instead of the whole sandbox's memory. `descriptors`: of one process. `rest_seconds`: time without a
    request until the agent rests."""
    data_bytes = 0 if groups else limits.memory_bytes
    sizes = limits.processes, limits.disk_bytes, data_bytes
    return messages.SETTINGS.pack(*sizes, rest_seconds, groups, descriptors).hex()


def command_line(world: World, programs: Programs, settings: str, *, grouped: bool) -> list[str]:
    """The whole bwrap command line, from the launcher's root, for a world whose sources lie on the shelf.

    `grouped`: its commands have control groups, and the launcher has created a namespace for them.
    """
    line = [FIXED + programs.bwrap_inside, *NAMESPACES, *HARDENING]
    line += [] if grouped else ["--unshare-cgroup-try"]
    line += read_only_system(programs.python_prefix)
    line += writable()
    line += tree(len(world.tree))
    for i, place in enumerate(world.folders):
        line += ["--bind", f"{SHELF}/folder.{i}", place]
    for i, mount in enumerate(world.mounts):
        line += ["--ro-bind", f"{SHELF}/mount.{i}", mount.target]
    line += ["--remount-ro", "/", "--chdir", WORKDIR, "--seccomp", str(SECCOMP_FD), "--"]
    line += [str(programs.python), "-I", "-S", "-B", "-c", READER, f"/proc/self/fd/{AGENT_FD}"]
    return [*line, settings, messages.FRESH]


@cache
def read_only_system(python_prefix: Path | None) -> tuple[str, ...]:
    """The part that is the same for all sandboxes of this process."""
    line = ["--perms", "0755", "--dir", "/home", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"]
    for name in ROOTS:
        path = Path("/", name)
        if path.is_symlink():
            line += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            line += ["--ro-bind", str(path), str(path)]
    for place in python_folders(python_prefix):
        line += ["--ro-bind", f"{FIXED}/python/{place.name}", str(place)]
    line += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    for place in (*hidden(), *mounted_below("/proc/sys")):
        if Path(place).is_dir():
            line += ["--size", "4096", "--tmpfs", place, "--remount-ro", place]
    for place in (LOCKS, *((KEYS,) if os.geteuid() else ())):
        if Path(place).exists():
            line += ["--ro-bind", f"{SHELF}/dev/null", place]
    return tuple(line)


def hidden() -> list[str]:
    """The folders of `/proc` that are the whole machine's and that no program needs."""
    found = (path for path in Path("/proc").iterdir() if path.is_dir() and not path.is_symlink())
    return sorted(str(path) for path in found if not path.name.isdigit() and path.name not in SHOWN)


@cache
def mounted_below(folder: str) -> tuple[str, ...]:
    """What this machine has mounted there: a folder comes with it. Systemd has an automount among the settings of the
    kernel, and whoever looks there has the host mount something."""
    return tuple(place for place in mount_points() if place.startswith(f"{folder}/"))


def mount_points() -> list[str]:
    """Where something is mounted on this machine now, in order."""
    return sorted({one.place for one in mount_table()})


def writable() -> list[str]:
    """Every writable folder except the tree, all on the sized tmpfs; `/dev` holds one, and the sandbox's terminals."""
    line = ["--dev-bind", f"{SHELF}/dev", "/dev"]
    return [*line, "--bind", f"{SHELF}/tmp", "/tmp", "--bind", f"{SHELF}/home", HOME]


def tree(layers: int) -> list[str]:
    """`/testbed`: the layers under a private upper layer, or an empty folder without layers."""
    if layers == 0:
        return ["--bind", f"{SHELF}/upper", WORKDIR]
    lower = [word for i in range(layers) for word in ("--overlay-src", f"{SHELF}/tree.{i}")]
    return [*lower, "--overlay", f"{SHELF}/upper", f"{SHELF}/work", WORKDIR]
