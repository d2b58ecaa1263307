"""The supervisor's side of the launcher process: starts it, sends it requests, reports why one failed."""

import contextlib
import errno
import importlib.util
import json
import marshal
import os
import socket
import struct
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from selfplay import subprocesses
from selfplay.sandbox import (
    agent,
    command_start,
    crowd,
    ending,
    hibernation,
    inside,
    launcher,
    loopback,
    messages,
    mounting,
    own_root,
    preparing,
    seccomp,
    stream_writer,
    streams,
)
from selfplay.sandbox.errors import Cause, MachineError, SandboxLost, WorldRefused
from selfplay.sandbox.programs import Programs

START_SECONDS = 60.0
LATE = 2
"""A launcher that fails to start this many sandboxes in a row in time is replaced."""
DEATH_SECONDS = 0.2
"""After a sandbox ended without a message, how long its launcher's death may take to become visible: the kernel ends
them one after the other."""
REQUEST_BYTES = 1 << 20
CREDENTIALS = struct.Struct("iII")
IN_FLIGHT = "Processes of this user have too many descriptors in flight. End them, or raise `ulimit -n`."
INSIDE = (messages, streams, stream_writer, hibernation, ending, crowd, command_start)
"""The agent's modules, each after those that it imports."""


@dataclass(frozen=True)
class Hello:
    """The agent's identity on the host, as the kernel reports it, so that nothing inside can forge it."""

    pid: int
    uid: int


class Launcher:
    """One launcher process, started on first use and restarted if it died. Serves many threads."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._lock = threading.Lock()
        self._process: subprocesses.Process | None = None
        self._requests: socket.socket | None = None
        self._late = 0
        self._errors = os.memfd_create("launcher-errors", os.MFD_CLOEXEC)

    def launch(self, request: dict[str, Any]) -> tuple[socket.socket, Hello]:
        """A socket to the agent of a new sandbox. A sandbox lost while starting is started once more, by a new launcher
        if the old one died. Raises `MachineError` with the message of bwrap or the kernel, `SandboxLost` if it is lost
        twice."""
        try:
            found = self._launched(request)
        except SandboxLost:
            found = self._launched(request)
        self._late = 0
        return found

    def _launched(self, request: dict[str, Any]) -> tuple[socket.socket, Hello]:
        ours, theirs = socket.socketpair()
        errors = os.memfd_create("errors", os.MFD_CLOEXEC)
        try:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            ours.settimeout(START_SECONDS)
            with theirs:
                self._send(json.dumps(request).encode(), [theirs.fileno(), errors])
            return ours, self._greet(ours, errors)
        except BaseException:
            ours.close()
            raise
        finally:
            os.close(errors)

    def close(self) -> None:
        """End the launcher and with it every sandbox."""
        with self._lock:
            if self._requests is not None:
                self._requests.close()
            if self._process is not None:
                try:
                    self._process.wait(START_SECONDS)
                except subprocesses.TimedOut:
                    self._process.kill()
                    self._process.wait()
            self._process = self._requests = None

    def _send(self, request: bytes, descriptors: list[int]) -> None:
        if len(request) > REQUEST_BYTES // 2:
            raise WorldRefused("the world has too many mounts to be described")
        with self._lock:
            if self._requests is None or self._process is None or self._process.poll() is not None:
                self._start()
            assert self._requests is not None
            try:
                socket.send_fds(self._requests, [request], descriptors)
            except (BrokenPipeError, ConnectionError):
                pass  # it just died: the agent's socket ends, and `_greet` says why
            except OSError as error:
                hint = IN_FLIGHT if error.errno == errno.ETOOMANYREFS else ""
                raise MachineError(f"no sandbox can be asked for: {error.strerror}", hint) from error

    def _start(self) -> None:
        if self._requests is not None:
            self._requests.close()
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REQUEST_BYTES)
        self._requests.settimeout(START_SECONDS)
        system: dict[str, Any] = inside.system_part(self._programs)
        system |= {"agent": compiled(agent, INSIDE).hex(), "seccomp": seccomp.program().hex()}
        program = launcher.filled("launcher", compiled(launcher, (mounting, loopback, preparing, own_root)))
        command = [str(self._programs.python), *("-I", "-S", "-B"), f"/proc/self/fd/{program}"]
        with theirs, os.fdopen(program, "rb"):
            self._process = subprocesses.start(
                [*command, str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno(), program],
                stderr=self._errors,
                env={},
                new_session=True,
            )
        with contextlib.suppress(OSError):
            self._requests.sendall(json.dumps(system).encode())

    def _greet(self, link: socket.socket, errors: int) -> Hello:
        expected = messages.pack([b"ready"])
        try:
            data, ancillary, _, _ = link.recvmsg(len(expected), socket.CMSG_SPACE(CREDENTIALS.size))
        except TimeoutError as error:
            self._give_up()
            raise SandboxLost(f"the sandbox did not start within {START_SECONDS:.0f} s") from error
        if data == expected and ancillary:
            pid, uid, _ = CREDENTIALS.unpack(ancillary[0][2])
            return Hello(pid, uid)
        if said := text(errors):
            raise MachineError(f"the sandbox did not start: {said}")
        if self._died():
            said = text(self._errors) or "no reason was given"
            raise SandboxLost(f"the sandbox did not start, because its launcher died: {said}", cause=Cause.OUTSIDE)
        raise SandboxLost("the sandbox did not start: no reason was given")

    def _give_up(self) -> None:
        """End a launcher that missed this many starts in a row: it hangs, and the next start uses a new one. Its
        sandboxes end with it."""
        with self._lock:
            self._late += 1
            if self._late >= LATE and self._process is not None:
                self._process.kill()
                self._late = 0

    def _died(self) -> bool:
        """Whether the launcher is dead; waits a moment for a death that has begun."""
        with self._lock:
            process = self._process
        if process is None:
            return True
        with contextlib.suppress(subprocesses.TimedOut):
            process.wait(DEATH_SECONDS)
        return process.poll() is not None


def text(descriptor: int) -> str:
    """The end of a memory file's content."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, 2000, max(0, size - 2000)).decode("utf-8", "replace").strip()


def compiled(main: ModuleType, modules: Iterable[ModuleType]) -> bytes:
    """A program with its modules as one `.pyc`: the interpreter that runs it has our version, so it compiles nothing.

    The modules are put where `import` looks first, so no package and no file is needed inside.
    """
    parts = {module.__name__: code(Path(module.__file__ or "")) for module in modules}
    preamble = (
        "import sys, marshal\n"
        f"for name, body in {parts!r}.items():\n"
        "    sys.modules[name] = module = type(sys)(name)\n"
        "    exec(marshal.loads(body), module.__dict__)\n"
        f"exec(marshal.loads({code(Path(main.__file__ or ''))!r}), {{'__name__': '__main__'}})\n"
    )
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(preamble, main.__name__, "exec"))


def code(file: Path) -> bytes:
    return marshal.dumps(compile(file.read_bytes(), file.name, "exec", optimize=2))
