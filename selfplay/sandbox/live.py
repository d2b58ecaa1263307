"""One live bubblewrap sandbox, as the supervisor holds it: a socket to the agent and a handle on its process."""

import contextlib
import os
import select
import shlex
import signal
import socket
import struct
import threading
from collections.abc import Mapping, Sequence

from selfplay.sandbox import agent
from selfplay.sandbox.protocol import MIB, WORKDIR, Completed, Limits, SandboxError

START_SECONDS = 30.0
GRACE_SECONDS = 20.0
"""How long after a command's own timeout the agent may take to kill it and answer, on a loaded machine."""
FILE_SECONDS = 60.0
CREDENTIALS = struct.Struct("iII")
SLACK = 4096


class BubblewrapSandbox:
    """A started sandbox. Raises `SandboxError` from its constructor with what bwrap said when it did not start."""

    def __init__(self, link: socket.socket, errors: int, env: Mapping[str, str], limits: Limits) -> None:
        self._link, self._env, self._limits = link, env, limits
        self._lock = threading.Lock()
        self._closed = False
        self.host_pid, self.host_uid = greet(link, errors)
        self._process = os.pidfd_open(self.host_pid)

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
        """Run `command` (a string goes to `bash -c`, a sequence is an argv). Raises `SandboxError` when the sandbox is gone."""
        argv = ["bash", "-c", command] if isinstance(command, str) else list(command)
        variables = [f"{name}={value}" for name, value in {**self._env, **(env or {})}.items()]
        if not argv or "\0" in "".join([*argv, *variables, cwd]):
            raise SandboxError(
                f"{shlex.join(argv)!r} in {cwd!r} is empty or holds a null byte: no such command can be run"
            )
        settings = agent.RUN.pack(timeout, self._limits.output_bytes, merge_stderr)
        request = [b"run", encode(argv), encode(variables), os.fsencode(cwd), stdin, settings]
        answer = self._ask(request, timeout + GRACE_SECONDS, 2 * self._limits.output_bytes + SLACK)
        if answer[0] == b"errno":
            raise SandboxError(f"the sandbox cannot run a command: {os.fsdecode(answer[2])}")
        code, timed_out, truncated, seconds, cpu_seconds = agent.DONE.unpack(answer[1])
        return Completed(code, answer[2], answer[3], timed_out, truncated, seconds, cpu_seconds)

    def read_file(self, path: str, max_bytes: int = 16 * MIB) -> bytes:
        """The bytes of one regular file inside."""
        request = [b"read", os.fsencode(path), agent.LENGTH.pack(max_bytes)]
        return self._file(path, self._ask(request, FILE_SECONDS, max_bytes + SLACK))

    def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write one file inside, making its folders."""
        self._file(path, self._ask([b"write", os.fsencode(path), agent.COUNT.pack(mode), data], FILE_SECONDS, SLACK))

    def close(self) -> None:
        """Kill everything inside, wait until the last process is gone, free it all. Safe to call twice."""
        with self._lock:
            self._end()

    def _file(self, path: str, answer: list[bytes]) -> bytes:
        if answer[0] == b"data":
            return answer[1]
        if answer[0] == b"refused":
            raise SandboxError(f"{path} {os.fsdecode(answer[1])}")
        number, text = agent.LENGTH.unpack(answer[1])[0], os.fsdecode(answer[2])
        raise file_error(path, number, text, self._limits)

    def _ask(self, request: list[bytes], seconds: float, most: int) -> list[bytes]:
        """One request and its answer. A sandbox that does not answer in time, or nonsense, is killed."""
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox is closed")
            self._link.settimeout(seconds)
            try:
                self._link.sendall(agent.pack(request))
                return agent.unpack(lambda size: receive(self._link, size), most)
            except TimeoutError as error:
                self._end()
                raise SandboxError(f"the sandbox did not answer within {seconds:.0f} s and was killed") from error
            except (OSError, EOFError, ValueError, struct.error) as error:
                self._end()
                raise SandboxError(f"the sandbox died: {error or type(error).__name__}") from error
            except BaseException:  # Ctrl-C in the middle of a message: the rest of it can be trusted no more
                self._end()
                raise

    def _end(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._link.close()
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)
        poll = select.poll()
        poll.register(self._process, select.POLLIN)  # readable once pid 1, and so all of its namespace, is gone
        poll.poll(GRACE_SECONDS * 1000)
        os.close(self._process)


def greet(link: socket.socket, errors: int) -> tuple[int, int]:
    """(pid, uid) on the host of the agent that says it is ready, as the kernel states them."""
    hello = agent.pack([b"ready"])
    try:
        data, ancillary, _, _ = link.recvmsg(len(hello), socket.CMSG_SPACE(CREDENTIALS.size))
    except TimeoutError as error:
        raise SandboxError(f"the sandbox did not start within {START_SECONDS:.0f} s") from error
    if data != hello:
        said = os.pread(errors, 4096, 0).decode("utf-8", "replace").strip()
        raise SandboxError(f"the sandbox did not start: {said or 'it said nothing'}")
    pid, uid, _ = CREDENTIALS.unpack(ancillary[0][2])
    return pid, uid


def receive(link: socket.socket, size: int) -> bytes:
    """Exactly `size` bytes, or EOFError."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        got = link.recv_into(view)
        if not got:
            raise EOFError("its agent is gone")
        view = view[got:]
    return bytes(data)


def encode(words: Sequence[str]) -> bytes:
    return b"\0".join(os.fsencode(word) for word in words)


def file_error(path: str, number: int, text: str, limits: Limits) -> Exception:
    """The exception for a file the agent could not read or write."""
    import errno

    if number == errno.ENOENT:
        return FileNotFoundError(number, text, path)
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = f"Everything written inside may take {limits.disk_bytes // MIB} MiB together."
        return SandboxError(f"the sandbox's disk is full: writing {path}", hint)
    return SandboxError(f"{path}: {text}")
