"""The helper process that starts sandboxes: small, single-threaded, and alive as long as the supervisor.

Why a process: `--die-with-parent` is per thread, and this one's only thread lives on. Forking it is cheap and safe;
forking a supervisor with threads is neither. And it prepares mounts that the host does not see, which bwrap cannot do:

- as root, every source is bind-mounted at a plain name *before* the uid is dropped, so that trees, environments and
  interpreters under a 0700 home are still found after it (bwrap resolves paths, even of `--ro-bind-fd`, as the caller);
- the writable layer lies on a tmpfs with a size, which `--tmp-overlay` cannot give;
- the system part (`/usr`, a small `/etc`) is put together once: bwrap reads all mounts for every bind;
- each sandbox gets overlays and devices of its own, since the kernel keeps locks and watches with a file.

The process moves into its own root: the system part at its usual paths, the host at HOST (unmounted in each child
before bwrap starts), and SHELF, one sized tmpfs per sandbox with its sources and its writable folders.
"""

import contextlib
import fcntl
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from selfplay.sandbox.loopback import own_network
from selfplay.sandbox.mounting import (
    MNT_DETACH,
    MS_NODEV,
    MS_NOSUID,
    MS_REC,
    attach,
    bind,
    call,
    leave_session_keyring,
    mapped,
    mount,
    own_devices,
    own_file_system,
    pivot,
    user_namespace,
    user_space,
    write,
)

HOST, SHELF, FIXED = "/host", "/shelf", "/fixed"
WRITABLE = ("upper", "work", "tmp", "shm", "home")
REQUESTS, ANSWERS, ERRORS, SECCOMP_FD, AGENT_FD = 0, 1, 2, 100, 101
CLONE_NEWNS, CLONE_NEWCGROUP = 0x20000, 0x2000000
MS_SLAVE = 0x80000
PER_USER = {"max_inotify_instances": b"32", "max_inotify_watches": b"8192"}
"""What one sandbox of an ordinary user may use of what the kernel counts for the user."""
NO_CORE = 1
"""Bytes of a core dump: too few, and the one value, unlike 0, with which the kernel starts no handler, a program of its
root's."""
SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


def move_into_own_root(system: dict[str, Any]) -> None:
    """Assemble the system part on a tmpfs, as `system` describes it, and make it this process's root."""
    if os.geteuid() == 0:
        call("unshare", CLONE_NEWNS)
        mount("none", "/", "", MS_SLAVE | MS_REC)
    else:
        user_namespace(CLONE_NEWNS)
    root = "/tmp"  # hidden in this namespace only; the host's stays visible under HOST
    copies = {place: Path(source).read_bytes() for place, source in system["copies"].items()}
    opened = {place: os.open(source, os.O_PATH | os.O_CLOEXEC) for place, source in system["binds"].items()}
    mount("sandboxes", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    for place in (HOST, SHELF, "/tmp", *system["folders"]):  # bwrap builds its new root on /tmp
        Path(root + place).mkdir(parents=True, exist_ok=True)
    for place, descriptor in opened.items():
        bind(f"/proc/self/fd/{descriptor}", root + place)
        os.close(descriptor)
    for place, data in (copies | {place: text.encode() for place, text in system["files"].items()}).items():
        Path(root + place).parent.mkdir(parents=True, exist_ok=True)
        Path(root + place).write_bytes(data)
    for place, target in system["links"].items():
        Path(root + place).symlink_to(target)
    pivot(root, root + HOST)
    os.chdir("/")


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


def prepare(request: dict[str, Any], space: int | None) -> None:
    """Do everything between the fork and bwrap, in the order that losing privileges requires. `space`: a user namespace
    that maps the files' owner to the sandbox's own."""
    os.umask(0o022)
    if request["groups"]:
        enter_groups(request["groups"], request["agents"])
    call("unshare", CLONE_NEWNS)
    size = f"mode=755,size={request['disk_bytes']},nr_inodes={request['files']}"
    mount("writable", SHELF, "tmpfs", MS_NOSUID | MS_NODEV, size)
    writable = (*WRITABLE, *(f"folder.{number}" for number in range(request["folders"])))
    for name in writable:
        os.mkdir(f"{SHELF}/{name}")
    for name in ("tmp", "shm"):
        os.chmod(f"{SHELF}/{name}", 0o1777)
    os.mkdir(f"{SHELF}/empty")
    own_devices(f"{SHELF}/dev", f"{SHELF}/shm")
    sources = {name: HOST + source for name, source in request["sources"].items()}
    alone = show(sources, request["shared"], space)
    for place in request["overlaid"]:
        own_file_system(place, f"{SHELF}/empty")
    call("umount2", HOST.encode(), MNT_DETACH)
    if request["shared"]:
        own_network()
        uid = gid = request["own"] if alone else request["shared"]
        for name in writable:
            os.chown(f"{SHELF}/{name}", uid, gid)
        drop(uid, gid)
    else:
        user_namespace()
        own_network()
        for name, most in PER_USER.items():
            with contextlib.suppress(OSError):
                write(f"/proc/sys/user/{name}", most)


def start(request: dict[str, Any], descriptors: list[int], seccomp: int, agent: int, spaces: dict[int, int]) -> None:
    """Fork, prepare and become bwrap. The agent itself answers the supervisor, with its first message or a closed
    socket. `spaces`: uid of a sandbox -> its user namespace made so far."""
    own = request["own"]
    if own and own not in spaces:
        with contextlib.suppress(OSError):  # the next one tries again
            spaces[own] = user_space(request["shared"], own)
    agent_socket, errors = descriptors
    try:
        if os.fork():
            return
    except OSError as error:  # no process is left: the other sandboxes live on
        os.write(errors, f"no process can be started: {error.strerror}\n".encode())
        return
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        ends = {ERRORS: errors, REQUESTS: agent_socket, ANSWERS: agent_socket, AGENT_FD: agent}
        for target, source in ends.items():
            os.dup2(source, target)
        # each bwrap reads it from the start, so each needs its own open file, not only a descriptor
        os.dup2(os.open(f"/proc/self/fd/{seccomp}", os.O_RDONLY | os.O_CLOEXEC), SECCOMP_FD)
        prepare(request, spaces.get(own))
        os.execve(request["argv"][0], request["argv"], {})
    except BaseException as error:
        os.write(ERRORS, f"{error}\n".encode())
    finally:
        os._exit(1)


def filled(name: str, data: bytes) -> int:
    """A sealed memory file with `data`: every sandbox sees the same file, and cannot change it."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(descriptor, data)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    return descriptor


def reap(*_: object) -> None:
    """Collect ended sandboxes."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def receive(requests: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """One request and the descriptors sent with it; empty if the supervisor closed the connection."""
    message, descriptors, _, _ = socket.recv_fds(requests, 1 << 20, 2, socket.MSG_CMSG_CLOEXEC)
    return json.loads(message or b"{}"), descriptors


def main() -> None:
    """Serve the supervisor until it ends. The arguments: the socket, the supervisor's pid."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.set_inheritable(False)
    supervisor = int(sys.argv[2])
    alive = os.pidfd_open(supervisor)
    if os.getppid() != supervisor:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor handles Ctrl-C
    signal.signal(signal.SIGCHLD, reap)
    with contextlib.suppress(ValueError):  # an ordinary user may not raise it; `ulimits.crashes` says so
        resource.setrlimit(resource.RLIMIT_CORE, (NO_CORE, NO_CORE))
    leave_session_keyring()
    system, _ = receive(requests)
    agent, seccomp = (filled(name, bytes.fromhex(system[name])) for name in ("agent", "seccomp"))
    try:
        move_into_own_root(system)
    except OSError as error:
        sys.exit(str(error))
    gc.disable()
    gc.freeze()  # memory allocated so far stays shared with every child
    spaces: dict[int, int] = {}
    ends: list[Any] = [requests, alive]
    while alive not in select.select(ends, [], [])[0]:
        request, descriptors = receive(requests)
        if not request:
            return
        request["overlaid"] += system["overlaid"]
        start(request, descriptors, seccomp, agent, spaces)
        for descriptor in descriptors:
            os.close(descriptor)


if __name__ == "__main__":
    main()
