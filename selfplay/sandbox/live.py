"""One live sandbox, on the supervisor's side: a stream to the agent inside and a means to kill everything in it.

Requests and answers are the same for every backend; a backend defines the stream, and how the end of everything inside
is guaranteed.
"""

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Protocol

from selfplay.sandbox import agent_requests, messages
from selfplay.sandbox.errors import Cause, InsideError, SandboxBusy, SandboxClosed, SandboxLost
from selfplay.sandbox.protocol import MIB, WORKDIR, Completed, Limits
from selfplay.sandbox.stream_reader import reading

GRACE_SECONDS = 20.0
"""How long after a command's timeout the agent may take to kill it and answer, on a loaded machine."""
BEYOND = {
    b"undying": "processes of its command did not end when they were killed",
    b"crowded": "its command held more sockets than a sandbox may have",
}
"""Answers of the agent after which the sandbox is of no use: what its command did, beyond a limit."""
FILE_SECONDS = 60.0
SLACK = 4096
FILE = (b"data", b"refused", b"errno")


class Link(Protocol):
    """The part of a socket's interface that a stream to the agent needs."""

    def settimeout(self, value: float | None, /) -> None: ...
    def sendall(self, data: bytes, /) -> None: ...
    def recv_into(self, buffer: memoryview, /) -> int: ...
    def shutdown(self, how: int, /) -> None: ...
    def close(self) -> None: ...


class LiveSandbox:
    """A started sandbox: its agent listens on `link`. Any thread may call any method; commands queue."""

    def __init__(
        self, link: Link, env: Mapping[str, str], limits: Limits, own_env: Mapping[str, str] | None = None
    ) -> None:
        self._link, self._env, self._limits = link, env, limits
        self.own_env: Mapping[str, str] = own_env or {}
        self._asking, self._ending = threading.RLock(), threading.Lock()
        self._ended = self._flowing = False
        self._lost: SandboxLost | None = None

    def _kill(self) -> None:
        """Kill everything inside, wait until it is gone, free its resources. Called once."""
        raise NotImplementedError

    def _begins(self) -> None:
        """Called before each request, so that `_death` can tell what happened during it."""

    def _killed_for_memory(self, ended: bool) -> bool:
        """Whether the kernel killed something in the sandbox for want of memory, its own or the machine's, since the
        last request began. `ended`: the command itself was killed."""
        return False

    def _over_memory(self) -> bool:
        """Whether the sandbox's own limit of memory was met since the last request began."""
        return False

    def _death(self, error: Exception) -> SandboxLost:
        """Why the stream to the agent broke; called before the rest is cleaned up."""
        return SandboxLost(f"the sandbox died: {error}")

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

        Raises `SandboxLost` when the sandbox is gone."""
        settings = messages.RUN.pack(timeout, self._limits.output_bytes, merge_stderr)
        request = [b"run", *agent_requests.command(command, {**self._env, **(env or {})}, cwd), stdin, settings]
        seconds, most = timeout + GRACE_SECONDS, 2 * self._limits.output_bytes + SLACK
        answer = self._ask(request, seconds, most, (b"done", b"errno"))
        if answer[0] == b"errno":
            raise agent_requests.not_run(os.fsdecode(answer[2]))
        return self._finished(answer)

    def _finished(self, answer: list[bytes]) -> Completed:
        """What the agent says of a command that has ended, with what the kernel says of its death."""
        code, timed_out, truncated, seconds, cpu_seconds = messages.DONE.unpack(answer[1])
        self._spent(cpu_seconds)
        done = Completed(code, answer[2], answer[3], timed_out, truncated, seconds, cpu_seconds)
        if not self._killed_for_memory(done.was_killed):
            return done
        return replace(done, killed_for_memory=True, over_memory=self._over_memory())

    @contextlib.contextmanager
    def stream(
        self, command: str | Sequence[str], *, timeout: float, env: Mapping[str, str] | None = None
    ) -> Iterator[IO[bytes]]:
        """Run `command`, a program of ours, and read its whole stdout, of any length, while it runs."""
        settings = messages.RUN.pack(timeout, self._limits.output_bytes, False)
        parts = agent_requests.command(command, {**self._env, **(env or {})}, WORKDIR)
        request = messages.WAKE + messages.pack([b"stream", *parts, b"", settings])
        deadline = time.monotonic() + timeout
        most = max(messages.PIECE, self._limits.output_bytes) * 2 + SLACK

        def exchange(data: bytes) -> list[bytes]:
            seconds = max(deadline - time.monotonic(), 0) + GRACE_SECONDS
            return self._exchange(data, seconds, most, (b"piece", b"done", b"errno"))

        with self._asking:
            self._must_be_free()
            self._begins()
            self._flowing = True
            try:
                with reading(os.fsdecode(parts[0]).split("\0"), request, exchange, self._finished) as stream:
                    yield stream
            finally:
                self._flowing = False

    def read_file(self, path: str, max_bytes: int = 16 * MIB) -> bytes:
        """The bytes of one regular file inside."""
        request = [b"read", agent_requests.inside(path), messages.LENGTH.pack(max_bytes)]
        return self._file(path, self._ask(request, FILE_SECONDS, max_bytes + SLACK))

    def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write one file inside, making its folders."""
        self._file(
            path,
            self._ask([b"write", agent_requests.inside(path), messages.COUNT.pack(mode), data], FILE_SECONDS, SLACK),
        )

    def close(self) -> None:
        """Kill everything inside, wait until the last process is gone, free all resources. Safe to call twice, and
        while a command runs in another thread: that command raises `SandboxClosed`."""
        self._end()
        with self._asking:
            self._link.close()

    def _spent(self, cpu_seconds: float) -> None:
        """Called with the core seconds of each command that ended."""

    def _must_be_free(self) -> None:
        if self._flowing:
            raise SandboxBusy("a command of this sandbox is streaming its output", "Leave that stream first.")

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
            raise InsideError(f"{path} {os.fsdecode(answer[1])}")
        number, text = messages.LENGTH.unpack(answer[1])[0], os.fsdecode(answer[2])
        raise agent_requests.file_error(path, number, text, self._limits)

    def _ask(self, request: list[bytes], seconds: float, most: int, kinds: tuple[bytes, ...] = FILE) -> list[bytes]:
        """Send one request, and read its answer."""
        with self._asking:
            self._must_be_free()
            self._begins()
            return self._exchange(messages.WAKE + messages.pack(request), seconds, most, kinds)

    def _exchange(self, data: bytes, seconds: float, most: int, kinds: tuple[bytes, ...]) -> list[bytes]:
        """Send bytes and read the answer. A sandbox that answers too late or invalidly is killed, and lost."""
        with self._asking:
            if self._lost is not None:
                raise SandboxLost(self._lost.message, self._lost.hint, self._lost.cause)
            if self._ended:
                raise SandboxClosed("the sandbox is closed")
            until = time.monotonic() + seconds  # for the whole answer: an image's own agent may send it byte by byte
            self._link.settimeout(seconds)
            try:
                self._link.sendall(data)
                answer = messages.unpack(lambda size: receive(self._link, size, until), most)
                if answer and answer[0] in BEYOND:
                    raise self._lose(SandboxLost(BEYOND[answer[0]], cause=Cause.LIMIT))
                return messages.checked(answer, kinds)
            except TimeoutError as error:
                raise self._lose(
                    SandboxLost(f"the sandbox did not answer within {seconds:.0f} s and was killed")
                ) from error
            except (OSError, EOFError, ValueError, struct.error) as error:
                if self._ended:  # another thread closed it, which broke the stream
                    raise SandboxClosed("the sandbox was closed while a command ran") from error
                raise self._lose(self._death(error)) from error
            except BaseException:  # Ctrl-C, too, may leave half a message, which would spoil later answers
                self.close()
                raise

    def _lose(self, reason: SandboxLost) -> SandboxLost:
        """Record why the sandbox is gone, for later requests, and end what is left of it."""
        self._lost = reason
        self.close()
        return reason


def left(until: float) -> float:
    """The seconds until then. Raises `TimeoutError` if there are none."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def memory_exceeded(limits: Limits) -> SandboxLost:
    """The error for an agent that the kernel killed because the sandbox had used up its memory."""
    return SandboxLost(
        f"the sandbox died: what ran in it took more than its {limits.memory_bytes // MIB} MiB of memory",
        "Give it more memory.",
        Cause.LIMIT,
    )


def receive(link: Link, size: int, until: float | None = None) -> bytes:
    """Exactly `size` bytes. Raises `EOFError` if there are fewer, `TimeoutError` if they come later than `until`."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        if until is not None:
            link.settimeout(left(until))
        got = link.recv_into(view)
        if not got:
            raise EOFError("its agent is gone")
        view = view[got:]
    return bytes(data)
