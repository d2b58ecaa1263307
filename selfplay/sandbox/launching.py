"""The supervisor's side of the launcher process: starts it, sends it requests, reports why one failed."""

import contextlib
import importlib.util
import json
import marshal
import os
import socket
import struct
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.sandbox import agent, inside, launcher, messages, resting, seccomp, streams
from selfplay.sandbox.programs import Programs
from selfplay.sandbox.protocol import SandboxError

START_SECONDS = 60.0
REQUEST_BYTES = 1 << 20
CREDENTIALS = struct.Struct("iII")


@dataclass(frozen=True)
class Hello:
    """The agent's identity on the host, as the kernel states it: nothing inside can forge it."""

    pid: int
    uid: int


class Launcher:
    """One launcher process, started when first needed and restarted if it died. Serves many threads."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._errors = os.memfd_create("launcher-errors", os.MFD_CLOEXEC)

    def launch(self, request: dict[str, Any]) -> tuple[socket.socket, Hello]:
        """A socket to the agent of a new sandbox. Raises `SandboxError` with the message of bwrap or the kernel."""
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
                self._process.wait(START_SECONDS)
            self._process = self._requests = None

    def _send(self, request: bytes, descriptors: list[int]) -> None:
        if len(request) > REQUEST_BYTES // 2:
            raise SandboxError("the world has too many mounts to be described")
        with self._lock:
            if self._requests is None or self._process is None or self._process.poll() is not None:
                self._start()
            assert self._requests is not None
            with contextlib.suppress(OSError):  # it died in between: the agent's socket ends, and `_greet` says why
                socket.send_fds(self._requests, [request], descriptors)

    def _start(self) -> None:
        if self._requests is not None:
            self._requests.close()
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REQUEST_BYTES)
        system: dict[str, Any] = inside.system_part(self._programs)
        system |= {"agent": compiled_agent().hex(), "seccomp": seccomp.program().hex()}
        command = [str(self._programs.python), *("-I", "-S", "-B"), launcher.__file__]
        with theirs:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env={},
                start_new_session=True,
            )
        with contextlib.suppress(OSError):
            self._requests.sendall(json.dumps(system).encode())

    def _greet(self, link: socket.socket, errors: int) -> Hello:
        expected = messages.pack([b"ready"])
        try:
            data, ancillary, _, _ = link.recvmsg(len(expected), socket.CMSG_SPACE(CREDENTIALS.size))
        except TimeoutError as error:
            raise SandboxError(f"the sandbox did not start within {START_SECONDS:.0f} s") from error
        if data == expected and ancillary:
            pid, uid, _ = CREDENTIALS.unpack(ancillary[0][2])
            return Hello(pid, uid)
        said = text(errors) or text(self._errors) or "nothing was said about why"
        raise SandboxError(f"the sandbox did not start: {said}")


def text(descriptor: int) -> str:
    """The end of a memory file's content."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, 2000, max(0, size - 2000)).decode("utf-8", "replace").strip()


def compiled_agent() -> bytes:
    """The agent and its modules as one `.pyc`: the interpreter inside has our version, so nothing is compiled there.

    The modules are put where `import` looks first, so no package and no file is needed inside.
    """
    parts = {module.__name__: code(Path(module.__file__ or "")) for module in (messages, streams, resting)}
    preamble = (
        "import sys, marshal\n"
        f"for name, body in {parts!r}.items():\n"
        "    sys.modules[name] = module = type(sys)(name)\n"
        "    exec(marshal.loads(body), module.__dict__)\n"
        f"exec(marshal.loads({code(Path(agent.__file__))!r}), {{'__name__': '__main__'}})\n"
    )
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(preamble, "agent", "exec"))


def code(file: Path) -> bytes:
    return marshal.dumps(compile(file.read_bytes(), file.name, "exec", optimize=2))
