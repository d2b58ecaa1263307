"""Before the first sandbox is trusted, a canary goes down the very path that all of them take, and tries to get out.

The host side sets the traps (a loopback listener, an abstract socket, a file that must not be seen, a lock), the canary
inside reports what it could do, and every promise is checked on its own, so that the error names the first one broken.
"""

import contextlib
import fcntl
import os
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.sandbox import canary
from selfplay.sandbox.protocol import MIB, IsolationUnavailable, Limits, Mount, SandboxError, World

if TYPE_CHECKING:
    from selfplay.sandbox.bubblewrap import BubblewrapBackend
    from selfplay.sandbox.live import BubblewrapSandbox

LIMITS = Limits(memory_bytes=256 * MIB, disk_bytes=16 * MIB, processes=24, cpus=1.0)
SECONDS = 20.0
FEW = 3  # the agent, the canary and nobody else, but for a shell in between
NONE_OF_THEM = "0000000000000000"
REFUSED = {
    "loopback": "a port on the host's loopback is reachable",
    "abstract": "an abstract socket of the host is reachable",
    "vsock": "vsock, which reaches a hypervisor, can be opened",
    "write /usr": "/usr is writable",
    "write /etc": "/etc is writable",
    "write /": "the root folder is writable",
    "write /etc/passwd": "/etc/passwd is writable",
    "write /proc/sys/kernel/core_pattern": "the kernel's core_pattern is writable",
    "write /proc/sysrq-trigger": "the kernel's sysrq-trigger is writable",
    "secret": "a file of the host that was not mounted is visible",
    "unshare": "new user namespaces can be made inside",
}
EXPECTED = {
    "CapEff": (NONE_OF_THEM, "capabilities are left (effective)"),
    "CapPrm": (NONE_OF_THEM, "capabilities are left (permitted)"),
    "CapBnd": (NONE_OF_THEM, "capabilities are left (bounding)"),
    "CapAmb": (NONE_OF_THEM, "capabilities are left (ambient)"),
    "NoNewPrivs": ("1", "programs may gain privileges (NoNewPrivs is not set)"),
    "Seccomp": ("2", "no system-call filter is in force"),
    "interfaces": ("lo", "there are network interfaces beside lo"),
    "overlay": ("[]", "a folder that was removed and made again shows its old files"),
    "forks": (str(LIMITS.processes - 1), "the limit on processes does not hold for one sandbox alone"),
    "disk": (str(LIMITS.disk_bytes), "the limit on the disk does not hold"),
}


@dataclass(frozen=True)
class Traps:
    """What the canary must not reach, and the world it is let into."""

    port: int
    abstract: str
    secret: Path
    lock: Path
    world: World


def probe(backend: "BubblewrapBackend") -> None:
    """Raises `IsolationUnavailable` naming the first promise that does not hold here, and what to do about it."""
    try:
        with traps(backend.owner()) as set_up, contextlib.closing(backend.start(set_up.world, LIMITS)) as sandbox:
            check_from_outside(backend, sandbox)
            check_from_inside(backend, sandbox, set_up)
            check_tree(set_up)
            check_kill(backend, sandbox, set_up)
    except IsolationUnavailable:
        raise
    except SandboxError as error:
        raise IsolationUnavailable(f"no sandbox can be started here: {error.message}", remedy()) from error


@contextlib.contextmanager
def traps(owner: tuple[int, int]) -> Iterator[Traps]:
    """Listeners and files of the host, gone when the context ends."""
    with (
        tempfile.TemporaryDirectory(prefix="selfplay-probe-") as name,
        socket.socket() as loopback,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        folder = Path(name)
        loopback.bind(("127.0.0.1", 0))
        abstract_name = f"selfplay-{secrets.token_hex(8)}"
        abstract.bind("\0" + abstract_name)
        for listener in (loopback, abstract):
            listener.listen()
        (folder / "tree" / "folder").mkdir(parents=True)
        for file in ("secret", "lock", "tree/folder/file"):
            (folder / file).write_text(file)
        for place in ("tree", "tree/folder", "tree/folder/file"):
            os.chown(folder / place, *owner)
        mounts = (Mount(Path(canary.__file__), "/canary.py"), Mount(folder / "lock", canary.LOCK))
        world = World(tree=(folder / "tree",), mounts=mounts)
        yield Traps(loopback.getsockname()[1], abstract_name, folder / "secret", folder / "lock", world)


def require(holds: bool, broken: str, hint: str = "") -> None:
    if not holds:
        raise IsolationUnavailable(f"this machine cannot isolate: {broken}", hint or remedy())


def check_from_outside(backend: "BubblewrapBackend", sandbox: "BubblewrapSandbox") -> None:
    """What the kernel says of the sandbox: its uid, its control group and the limits read back from it."""
    uid = sandbox.hello.uid
    require(uid != 0 and uid == backend.identity.uid, f"sandboxes run as uid {uid} of the host")
    if backend.cgroups is not None and sandbox.group is not None:
        wrong = backend.cgroups.mismatch(sandbox.group, LIMITS, sandbox.hello.pid)
        require(not wrong, f"the control group does not hold: {wrong}")


def check_from_inside(backend: "BubblewrapBackend", sandbox: "BubblewrapSandbox", traps: Traps) -> None:
    """What the canary could do."""
    arguments = ["look", str(traps.port), traps.abstract, str(traps.secret)]
    done = sandbox.run(canary_command(backend, *arguments), timeout=SECONDS)
    require(done.exit_code == 0, f"the canary failed: {done.text[-500:]}")
    found = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
    for name, broken in REFUSED.items():
        require(found[name] != "open", broken)
    for name, (value, broken) in EXPECTED.items():
        require(found[name] == value, f"{broken}: {name} is {found[name]}, not {value}")
    require(int(found["pids"]) <= FEW, f"{found['pids']} processes are visible inside")


def check_tree(traps: Traps) -> None:
    file = traps.world.tree[0] / "folder" / "file"
    require(file.exists(), "what a sandbox deletes in its tree is deleted on the host")


def check_kill(backend: "BubblewrapBackend", sandbox: "BubblewrapSandbox", traps: Traps) -> None:
    """A process that has left its session twice dies with the sandbox: the lock it holds becomes free."""

    def linger() -> None:
        with contextlib.suppress(SandboxError):
            sandbox.run(canary_command(backend, "linger"), timeout=SECONDS)

    thread = threading.Thread(target=linger, name="selfplay-probe")
    thread.start()
    try:
        deadline = time.monotonic() + SECONDS
        while free(traps.lock):
            require(time.monotonic() < deadline and thread.is_alive(), "the canary cannot leave a process behind")
            time.sleep(0.001)
    finally:
        sandbox.close()
        thread.join()
    require(free(traps.lock), "a process inside outlived its sandbox")


def free(lock: Path) -> bool:
    with lock.open() as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def canary_command(backend: "BubblewrapBackend", *arguments: str) -> list[str]:
    return [str(backend.programs.python), "-I", "-S", "-B", "/canary.py", *arguments]


def remedy() -> str:
    """What to do about it, from what this machine says of itself."""
    settings = {
        "kernel.unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
        "user.max_user_namespaces": ("0", "sysctl user.max_user_namespaces=15000"),
        "kernel.apparmor_restrict_unprivileged_userns": (
            "1",
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that grants bwrap `userns`",
        ),
    }
    for name, (bad, command) in settings.items():
        path = Path("/proc/sys", *name.split("."))
        with contextlib.suppress(OSError):
            if path.read_text().strip() == bad:
                return f"User namespaces are switched off. As root: {command}."
    if any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv")):
        return (
            "This is a container that may not make namespaces. Use the host, or run it with "
            "`--security-opt seccomp=unconfined --security-opt apparmor=unconfined --cap-add SYS_ADMIN`."
        )
    return f"Needed: Linux 5.14 or newer (this is {os.uname().release}) with user namespaces, on x86_64 or aarch64."
