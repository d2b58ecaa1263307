"""Converts commands and paths to the agent's form, and its refusals to exceptions."""

import errno
import os
import posixpath
import shlex
from collections.abc import Mapping, Sequence

from selfplay.sandbox.errors import InsideError, SandboxLost
from selfplay.sandbox.protocol import MIB, WORKDIR, Limits

OF_NO_FILE = {errno.ENOMEM, errno.ENFILE, errno.EMFILE}
"""What a file cannot be read or written for, whatever is inside. Not EIO, which links into `/proc` may have."""
SHOWN = 200
"""Characters of a command or a path shown in a message."""


def command(command: str | Sequence[str], env: Mapping[str, str], cwd: str) -> tuple[bytes, bytes, bytes]:
    """A command (a string goes to `bash -c`, a sequence is an argv), its environment and its folder. Raises
    `InsideError` if it cannot be run."""
    argv = ["bash", "-c", command] if isinstance(command, str) else list(command)
    variables = [f"{name}={value}" for name, value in env.items()]
    if not argv or "\0" in "".join([*argv, *variables, cwd]):
        raise InsideError(
            f"{shlex.join(argv)[:SHOWN]!r} in {cwd[:SHOWN]!r} is empty or holds a null byte: no such command can be run"
        )
    return encode(argv), encode(variables), inside(cwd)


def inside(path: str) -> bytes:
    """A path in the agent's form: absolute; a relative one starts at `/testbed`. Raises `InsideError` for a null
    byte."""
    if "\0" in path:
        raise InsideError(f"{path[:SHOWN]!r} holds a null byte: there can be no such file")
    return os.fsencode(posixpath.join(WORKDIR, path))


def encode(words: Sequence[str]) -> bytes:
    return b"\0".join(os.fsencode(word) for word in words)


def not_run(text: str) -> SandboxLost:
    """The exception for a command that the agent could not start. A program that is missing, or that the kernel
    refuses, has an exit code; what fails before it, for want of a process or of memory, is nothing's fault inside."""
    return SandboxLost(f"the sandbox cannot run a command: {text}")


def file_error(path: str, number: int, text: str, limits: Limits) -> Exception:
    """The exception for a file that the agent could not read or write."""
    if number in OF_NO_FILE:
        return SandboxLost(f"{path}: {text}")
    if number == errno.ENOENT:
        return FileNotFoundError(number, text, path)
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = f"Everything written inside may take {limits.disk_bytes // MIB} MiB together."
        return InsideError(f"the sandbox's disk is full: writing {path}", hint)
    return InsideError(f"{path}: {text}")
