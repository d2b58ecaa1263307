"""Before the first sandbox is trusted, a canary starts in one exactly like all others, and tries to escape.

The host side sets the traps (a loopback listener, an abstract socket, a file that must not be visible, a lock), the
canary inside reports what it could do, and every promise is checked separately, so that the error names the first
broken one.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from selfplay.sandbox import canary, owners
from selfplay.sandbox.errors import InsideError, IsolationUnavailable, SandboxError, SandboxLost
from selfplay.sandbox.kill_detection import unless_killed
from selfplay.sandbox.live import LiveSandbox
from selfplay.sandbox.protocol import (
    MIB,
    Completed,
    Limits,
    Mount,
    World,
)

TRIES = 3  # something else may kill the canary
LIMITS = Limits(memory_bytes=256 * MIB, disk_bytes=16 * MIB, processes=24, cpus=1.0)
SECONDS = 20.0
FEW = 3  # the agent, the canary, and perhaps a shell between them
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
    "writable": ("nothing else", "file systems that are not the sandbox's are writable"),
    "overlay": ("[]", "a folder that was removed and made again shows its old files"),
    "forks": (str(LIMITS.processes - 1), "the limit on processes does not hold for one sandbox alone"),
}


Started = TypeVar("Started", bound=LiveSandbox)


class ProbeResult(Protocol[Started]):
    """What the probe needs from a backend, besides starting sandboxes."""

    @property
    def python(self) -> str:
        """The interpreter inside."""
        ...

    def owner(self) -> tuple[int, int]: ...

    def start(self, world: World, limits: Limits = Limits()) -> Started: ...

    def broken_outside(self, sandbox: Started, limits: Limits) -> str:
        """What the kernel or the engine reports about the sandbox that is not as promised; empty if everything is."""
        ...

    def testbed_bytes(self, limits: Limits) -> int:
        """The expected size of the disk under `/testbed`, besides the tree."""
        ...

    def remedy(self) -> str:
        """What to do when no sandbox can be started."""
        ...


@dataclass(frozen=True)
class Traps:
    """Things that the canary must not reach, and the world it runs in."""

    port: int
    abstract: str
    secret: Path
    lock: Path
    world: World


def probe(backend: ProbeResult[Started]) -> tuple[str, ...]:
    """The promises that were tested and hold, in order. A test that is interrupted by a kill is repeated.

    Raises `IsolationUnavailable`, naming the first promise that does not hold here, with advice."""
    for _ in range(TRIES - 1):
        try:
            return probed_once(backend)
        except SandboxLost:
            continue
    try:
        return probed_once(backend)
    except SandboxLost as lost:
        if isinstance(lost, IsolationUnavailable):
            raise
        hint = lost.hint or backend.remedy()
        raise IsolationUnavailable(f"no sandbox can be started here: {lost.message}", hint) from lost


def probed_once(backend: ProbeResult[Started]) -> tuple[str, ...]:
    """Like `probe`, once. Raises `SandboxLost` if the canary's sandbox is lost."""
    kept: list[str] = []
    try:
        with traps(backend.owner()) as set_up, contextlib.closing(backend.start(set_up.world, LIMITS)) as sandbox:
            for promise in promises(backend, sandbox, set_up):
                kept.append(promise)
    except SandboxLost:
        raise
    except IsolationUnavailable as error:
        if not error.hint:
            raise IsolationUnavailable(error.message, backend.remedy()) from error
        raise
    except (SandboxError, InsideError) as error:
        hint = error.hint or backend.remedy()
        raise IsolationUnavailable(f"no sandbox can be started here: {error.message}", hint) from error
    return tuple(kept)


def promises(backend: ProbeResult[Started], sandbox: Started, set_up: Traps) -> Iterator[str]:
    """Yield each promise in words when it was seen to hold. Raises `IsolationUnavailable` for the first that does not
    hold."""
    broken = backend.broken_outside(sandbox, LIMITS)
    require(not broken, broken)
    yield "not root on the host, and limits read back from the kernel"
    yield from check_from_inside(backend, sandbox, set_up)
    check_tree(set_up)
    yield "what is deleted inside stays on the host"
    check_kill(backend, sandbox, set_up)
    yield "a process that left its session twice dies with its sandbox"


@contextlib.contextmanager
def traps(owner: tuple[int, int]) -> Iterator[Traps]:
    """Listeners and files of the host, gone when the context ends."""
    with (
        owners.scratch() as folder,
        socket.socket() as loopback,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        folder.chmod(0o755)  # only the sandbox should hide the secret
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


def require(holds: bool, broken: str) -> None:
    if not holds:
        raise IsolationUnavailable(f"this machine cannot isolate: {broken}")


def check_from_inside(backend: ProbeResult[Started], sandbox: Started, traps: Traps) -> Iterator[str]:
    """Check what the canary could do."""
    arguments = ["look", str(traps.port), traps.abstract, str(traps.secret)]
    done = unless_killed(sandbox.run(canary_command(backend, *arguments), timeout=SECONDS), "the canary")
    require(done.exit_code == 0, f"the canary failed: {done.text[-500:]}")
    lines = done.stdout.decode("utf-8", "replace").splitlines()  # an image's own Python may have said anything
    found = {name: value[:200] for name, _, value in (line.partition("=") for line in lines)}
    lacking = [name for name in (*REFUSED, *EXPECTED, "secret", "disk", "pids") if name not in found]
    require(not lacking, f"the canary did not say anything of {', '.join(lacking)}")
    for name, broken in REFUSED.items():
        require(found[name] != "open", broken)
        yield f"{name}: {found[name]}"
    require(found["secret"] == os.strerror(errno.ENOENT), "a file of the host that was not mounted is visible")
    yield "a secret file of the host: not there"
    disk = {"disk": (str(backend.testbed_bytes(LIMITS)), "the limit on the disk does not hold")}
    for name, (value, broken) in (EXPECTED | disk).items():
        require(found[name] == value, f"{broken}: {name} is {found[name]}, not {value}")
        yield f"{name}: {found[name]}"
    require(found["pids"].isdecimal() and int(found["pids"]) <= FEW, f"{found['pids']} processes are visible inside")
    yield f"processes visible: {found['pids']}"


def check_tree(traps: Traps) -> None:
    file = traps.world.tree[0] / "folder" / "file"
    require(file.exists(), "what a sandbox deletes in its tree is deleted on the host")


def check_kill(backend: ProbeResult[Started], sandbox: Started, traps: Traps) -> None:
    """A process that has left its session twice dies with the sandbox: the lock it holds becomes free. The canary that
    left it waits for ever, unless something kills it, or its sandbox."""

    ended, failed = list[Completed](), list[SandboxError | InsideError]()

    def linger() -> None:
        try:
            ended.append(sandbox.run(canary_command(backend, "linger"), timeout=SECONDS))
        except (SandboxError, InsideError) as error:
            failed.append(error)

    thread = threading.Thread(target=linger, name="selfplay-probe")
    thread.start()
    try:
        deadline = time.monotonic() + SECONDS
        while free(traps.lock):
            for error in failed:
                raise error
            for done in ended:
                unless_killed(done, "the canary")
            require(time.monotonic() < deadline and not ended, "the canary cannot leave a process behind")
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


def canary_command(backend: ProbeResult[Started], *arguments: str) -> list[str]:
    return [backend.python, "-I", "-S", "-B", "/canary.py", *arguments]
