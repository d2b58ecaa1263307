"""Runs one program with limits on its time, on the output that is kept and, optionally, on its memory and file size.

Used only for git, on the host and inside a sandbox, so it imports only the standard library and `host`.
"""

import os
import selectors
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from selfplay import subprocesses

SHELL_LIMITS = 'ulimit -v "$1" && ulimit -f "$2" && shift 2 && exec "$@"'
MAX_ERRORS = 64 * 1024
BLOCK = 1 << 16


@dataclass(frozen=True)
class ProgramBounds:
    """`seconds` of wall time, `output` bytes of stdout. `memory` and `file` limit, in bytes, each process that the
    program starts; 0 means no limit."""

    seconds: float = 300.0
    output: int = 64 << 20
    memory: int = 0
    file: int = 0


class OutOfBounds(Exception):
    """The program was killed because it took too long or wrote too much."""


def execute(
    command: Sequence[str], cwd: Path, stdin: bytes, env: Mapping[str, str | None], bounds: ProgramBounds
) -> tuple[int, bytes, str]:
    """(exit status, stdout, the end of stderr). `env` is added to this process's environment; names whose value is None
    are removed. Raises `OutOfBounds`, and `OSError` when the program cannot be started."""
    words = list(command)
    given_env = {name: value for name, value in {**os.environ, **env}.items() if value is not None}
    if bounds.memory or bounds.file:
        kilobytes = str(bounds.memory // 1024) if bounds.memory else "unlimited"
        blocks = str(bounds.file // 512) if bounds.file else "unlimited"
        words = ["sh", "-c", SHELL_LIMITS, "sh", kilobytes, blocks, *words]
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        process = subprocesses.start(
            words,
            cwd=cwd,
            env=given_env,
            stdin=given,
            stdout=subprocesses.PIPE,
            stderr=subprocesses.PIPE,
            new_session=True,
        )
    try:
        out, errors = _output(process, bounds)
        return process.wait(), out, errors.decode("utf-8", "replace")
    finally:
        _end(process)


def _output(process: subprocesses.Process, bounds: ProgramBounds) -> tuple[bytes, bytes]:
    """All of stdout and the end of stderr, once both are closed."""
    assert process.stdout is not None and process.stderr is not None
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    deadline = time.monotonic() + bounds.seconds
    with selectors.DefaultSelector() as waiting:
        for stream in kept:
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise OutOfBounds(f"took more than {bounds.seconds:.0f} s")
            for key, _ in ready:
                block = os.read(key.fd, BLOCK)
                if not block:
                    waiting.unregister(key.fileobj)
                kept[key.fileobj] += block  # type: ignore[index]
            if len(kept[process.stdout]) > bounds.output:
                raise OutOfBounds(f"wrote more than {bounds.output} bytes")
            del kept[process.stderr][:-MAX_ERRORS]
    return bytes(kept[process.stdout]), bytes(kept[process.stderr])


def _end(process: subprocesses.Process) -> None:
    """Kill the program with its children, and close its streams."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
