"""The embedded backend: bubblewrap, an agent process inside, no daemon, no image, no privilege needed.

A launcher process starts the sandboxes (`launcher.py` says why), an agent inside serves each (`agent.py`), and killing
that agent, pid 1 of its namespace, ends everything in it. The host's kernel is shared: against a kernel exploit only
gVisor or a virtual machine helps.
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
from typing import Any

from selfplay.sandbox import agent, inside, launcher, seccomp
from selfplay.sandbox.identity import identity
from selfplay.sandbox.live import START_SECONDS, BubblewrapSandbox
from selfplay.sandbox.programs import find_programs
from selfplay.sandbox.protocol import WORKDIR, IsolationUnavailable, Limits, Sandbox, SandboxError, World

REQUEST_BYTES = 1 << 20


class BubblewrapBackend:
    """Starts sandboxes through one launcher process, from any number of threads."""

    name = "bubblewrap"

    def __init__(self) -> None:
        self._identity = identity()
        self._programs = find_programs()
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
        shown = inside.sources(world)
        request = {
            "drop_to": self.owner() if self._identity.drop else None,
            "sources": shown,
            "disk_bytes": limits.disk_bytes,
            "argv": inside.command_line(world, limits, self._programs, shown),
        }
        ours, theirs = socket.socketpair()
        errors = os.memfd_create("errors", os.MFD_CLOEXEC)
        try:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            ours.settimeout(START_SECONDS)
            self._send(request, [theirs.fileno(), errors])
            theirs.close()
            return BubblewrapSandbox(ours, errors, inside.environment(world), limits)
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

    def _send(self, request: dict[str, Any], descriptors: Sequence[int]) -> None:
        with self._lock:
            if self._requests is None or self._launcher is None or self._launcher.poll() is not None:
                self._requests = self._start_launcher()
            try:
                socket.send_fds(self._requests, [json.dumps(request).encode()], descriptors)
            except OSError as error:
                raise SandboxError(f"the sandbox launcher cannot be reached: {error.strerror}") from error

    def _start_launcher(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REQUEST_BYTES)
        system: dict[str, Any] = inside.system_part(self._programs)
        system |= {"agent": compiled_agent().hex(), "seccomp": seccomp.program().hex()}
        python = str(self._programs.python)
        command = [python, "-I", "-S", "-B", launcher.__file__, str(theirs.fileno()), str(os.getpid())]
        with theirs:
            self._launcher = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env={}, start_new_session=True
            )
        ours.sendall(json.dumps(system).encode())
        return ours


def compiled_agent() -> bytes:
    """The agent as a `.pyc`: the interpreter inside has our version, so it need not compile it again and again."""
    source = Path(agent.__file__).read_bytes()
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(source, "agent", "exec", optimize=2))


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


def open_backend(name: str = "bubblewrap") -> BubblewrapBackend:
    """The backend of that name. Raises `IsolationUnavailable` naming what this machine lacks."""
    if name != "bubblewrap" or sys.platform != "linux":
        raise IsolationUnavailable(f"there is no sandbox backend {name!r} for {sys.platform}", "Known: bubblewrap.")
    return BubblewrapBackend()
