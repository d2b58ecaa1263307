"""One live sandbox, on the supervisor's side: a stream to the agent inside and a means to kill everything in it.

Requests and answers are the same for every backend; a backend defines what the stream is and how the end is made
certain.
"""

import contextlib
import errno
import os
import posixpath
import select
import shlex
import signal
import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from typing import Protocol

from selfplay.sandbox import messages
from selfplay.sandbox.cgroups import Group
from selfplay.sandbox.launching import Hello
from selfplay.sandbox.protocol import MIB, WORKDIR, Completed, Limits, SandboxError

GRACE_SECONDS = 20.0
"""How long after a command's own timeout the agent may take to kill it and answer, on a loaded machine."""
FILE_SECONDS = 60.0
SLACK = 4096
FILE = (b"data", b"refused", b"errno")


class Link(Protocol):
    """A stream to the agent: the part of a socket's interface that is needed."""

    def settimeout(self, value: float | None, /) -> None: ...
    def sendall(self, data: bytes, /) -> None: ...
    def recv_into(self, buffer: memoryview, /) -> int: ...
    def shutdown(self, how: int, /) -> None: ...
    def close(self) -> None: ...


class LiveSandbox:
    """A started sandbox: its agent listens on `link`. Any thread may call any method; commands queue."""

    def __init__(self, link: Link, env: Mapping[str, str], limits: Limits) -> None:
        self._link, self._env, self._limits = link, env, limits
        self._asking, self._ending = threading.RLock(), threading.Lock()
        self._ended = False

    def _kill(self) -> None:
        """Kill everything inside, wait until it is gone, free its resources. Called once."""
        raise NotImplementedError

    def _death(self, error: Exception) -> SandboxError:
        """Why the stream to the agent broke; called before the rest is cleaned up."""
        return SandboxError(f"the sandbox died: {error}")

    def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        cwd: str = WORKDIR,
        env: Mapping[str, str] | None = None,
        merge_stderr: bool = False,
    ) -> Completed:
        """Run `command` (a string goes to `bash -c`, a sequence is an argv).

        Raises `SandboxError` when the sandbox is gone."""
        argv = ["bash", "-c", command] if isinstance(command, str) else list(command)
        variables = [f"{name}={value}" for name, value in {**self._env, **(env or {})}.items()]
        if not argv or "\0" in "".join([*argv, *variables, cwd]):
            raise SandboxError(
                f"{shlex.join(argv)!r} in {cwd!r} is empty or holds a null byte: no such command can be run"
            )
        settings = messages.RUN.pack(timeout, self._limits.output_bytes, merge_stderr)
        request = [b"run", encode(argv), encode(variables), inside(cwd), stdin, settings]
        seconds, most = timeout + GRACE_SECONDS, 2 * self._limits.output_bytes + SLACK
        answer = self._ask(request, seconds, most, (b"done", b"errno"))
        if answer[0] == b"errno":
            raise SandboxError(f"the sandbox cannot run a command: {os.fsdecode(answer[2])}")
        code, timed_out, truncated, seconds, cpu_seconds = messages.DONE.unpack(answer[1])
        return Completed(code, answer[2], answer[3], timed_out, truncated, seconds, cpu_seconds)

    def read_file(self, path: str, max_bytes: int = 16 * MIB) -> bytes:
        """The bytes of one regular file inside."""
        request = [b"read", inside(path), messages.LENGTH.pack(max_bytes)]
        return self._file(path, self._ask(request, FILE_SECONDS, max_bytes + SLACK))

    def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write one file inside, making its folders."""
        self._file(path, self._ask([b"write", inside(path), messages.COUNT.pack(mode), data], FILE_SECONDS, SLACK))

    def close(self) -> None:
        """Kill everything inside, wait until the last process is gone, free all resources. Safe to call twice, and
        while a command runs in another thread: that command raises `SandboxError`."""
        self._end()
        with self._asking:
            self._link.close()

    def _end(self) -> None:
        with self._ending:
            if self._ended:
                return
            self._ended = True
            with contextlib.suppress(OSError):
                self._link.shutdown(socket.SHUT_RDWR)
            self._kill()

    def _file(self, path: str, answer: list[bytes]) -> bytes:
        if answer[0] == b"data":
            return answer[1]
        if answer[0] == b"refused":
            raise SandboxError(f"{path} {os.fsdecode(answer[1])}")
        number, text = messages.LENGTH.unpack(answer[1])[0], os.fsdecode(answer[2])
        raise file_error(path, number, text, self._limits)

    def _ask(self, request: list[bytes], seconds: float, most: int, kinds: tuple[bytes, ...] = FILE) -> list[bytes]:
        """Send one request and read its answer. A sandbox that answers too late, or invalidly, is killed."""
        with self._asking:
            if self._ended:
                raise SandboxError("the sandbox is closed")
            self._link.settimeout(seconds)
            try:
                self._link.sendall(messages.WAKE + messages.pack(request))
                return messages.checked(messages.unpack(lambda size: receive(self._link, size), most), kinds)
            except TimeoutError as error:
                self.close()
                raise SandboxError(f"the sandbox did not answer within {seconds:.0f} s and was killed") from error
            except (OSError, EOFError, ValueError, struct.error) as error:
                reason = self._death(error)
                self.close()
                raise reason from error
            except BaseException:  # Ctrl-C too may leave half a message: no later answer could be trusted
                self.close()
                raise


class BubblewrapSandbox(LiveSandbox):
    """The agent is a process of this machine: killing it ends the whole namespace."""

    def __init__(self, link: Link, hello: Hello, env: Mapping[str, str], limits: Limits, group: Group | None) -> None:
        super().__init__(link, env, limits)
        self.hello = hello
        self.group = group
        self._process = os.pidfd_open(hello.pid)

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)
        poll = select.poll()
        poll.register(self._process, select.POLLIN)  # readable once pid 1, and so all of its namespace, is gone
        poll.poll(GRACE_SECONDS * 1000)
        os.close(self._process)
        if self.group:
            self.group.close()


def receive(link: Link, size: int) -> bytes:
    """Exactly `size` bytes, or EOFError."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        got = link.recv_into(view)
        if not got:
            raise EOFError("its agent is gone")
        view = view[got:]
    return bytes(data)


def inside(path: str) -> bytes:
    """A path in the agent's form: absolute; a relative one starts at `/testbed`. Raises `SandboxError` for a null
    byte."""
    if "\0" in path:
        raise SandboxError(f"{path!r} holds a null byte: there can be no such file")
    return os.fsencode(posixpath.join(WORKDIR, path))


def encode(words: Sequence[str]) -> bytes:
    return b"\0".join(os.fsencode(word) for word in words)


def file_error(path: str, number: int, text: str, limits: Limits) -> Exception:
    """The exception for a file the agent could not read or write."""
    if number == errno.ENOENT:
        return FileNotFoundError(number, text, path)
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = f"Everything written inside may take {limits.disk_bytes // MIB} MiB together."
        return SandboxError(f"the sandbox's disk is full: writing {path}", hint)
    return SandboxError(f"{path}: {text}")
