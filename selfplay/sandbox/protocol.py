"""Defines what a sandbox is, independently of the backend: values in, values out, and one small protocol.

A `World` describes the inside, `Limits` what it may use, `Completed` the result of a command. A `Backend` turns a world
into live `Sandbox`es. Nothing here knows what runs inside: a build, a test suite, a model's command.
"""

import signal
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from selfplay.sandbox.errors import WorldRefused

MIB = 1024 * 1024
BYTES_PER_FILE = PAGE = 4096
SHARE_OF_SOCKETS = 8
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KILLS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""With these a machine without memory, a scheduler or a logout ends processes, those in sandboxes too."""
KILLED = (*(-one for one in KILLS), *(128 + one for one in KILLS))
"""The exit code of a killed process, and of a shell whose last command was killed."""
LEAST = {"memory_bytes": 8 * MIB, "disk_bytes": 256 * 1024, "processes": 1, "cpus": 0.01, "output_bytes": 1}
"""Smaller limits are an error for kernel and engine or, worse, mean no limit at all."""
WORKDIR = "/testbed"
"""The repository's folder in every sandbox (the SWE-bench convention, so exports need no rewriting)."""


@dataclass(frozen=True)
class Limits:
    """Limits of one sandbox. `output_bytes` limits what is kept of each stream of one command (head and tail).

    `disk_bytes` covers everything written inside together (`/testbed`, `/tmp`, `/dev/shm`, the home, the folders of the
    world), with at most one file per 4 KiB; it lies in memory and counts against `memory_bytes` too. Docker divides it
    among these places. If no control group can be made, `memory_bytes` holds only for the private memory of each
    process and shared memory has no limit; a backend reports what enforces which limit on this machine.
    """

    memory_bytes: int = 2048 * MIB
    disk_bytes: int = 1024 * MIB
    processes: int = 512
    cpus: float | None = None
    output_bytes: int = 4 * MIB

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:  # `not >=`: NaN is refused too
                raise WorldRefused(f"a limit of {name}={value} cannot be held", f"The least is {least}.")

    @property
    def files(self) -> int:
        """How many files and folders the disk may hold."""
        return self.disk_bytes // BYTES_PER_FILE

    @property
    def socket_bytes(self) -> int:
        """Limit of TCP and UDP socket buffers if the kernel counts them separately (control groups v1); under v2 they
        are part of `memory_bytes`."""
        return max(self.memory_bytes // SHARE_OF_SOCKETS // PAGE * PAGE, PAGE)


@dataclass(frozen=True)
class Mount:
    """A host folder or file seen inside, always read-only. `own`: a folder, in which nothing else is mounted, that a
    sandbox sees through a file system of its own where that can be had; it makes no other world."""

    source: Path
    target: str
    own: bool = field(default=False, repr=False, compare=False)


@dataclass(frozen=True)
class World:
    """What a sandbox sees: host folders stacked (lowest first) as a private copy-on-write `/testbed`, plus mounts.

    `tree` may be empty: then `/testbed` is an empty writable folder. `folders` are absolute paths of empty writable
    folders on the sandbox's own disk; nothing of the host is ever writable inside. `env` is the whole environment of
    every command (the host's is never inherited). No sandbox has a network, only a loopback of its own.
    """

    tree: tuple[Path, ...] = ()
    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    @property
    def own_env(self) -> dict[str, str]:
        """Changes to the environment for our own programs: they are found only in the sandbox's own folders, never in
        the tree, below a mount or in a folder of this world, which a repository's build may have filled."""
        theirs = tuple(f"{one}/" for one in (WORKDIR, *self.folders, *(mount.target for mount in self.mounts)))
        folders = self.env.get("PATH", "").split(":")
        own = [one for one in folders if one.startswith("/") and not f"{one}/".startswith(theirs)]
        return {"PATH": ":".join(own) or SYSTEM_PATH} if "PATH" in self.env else {}


@dataclass(frozen=True)
class Completed:
    """The result of one command. `exit_code` is negative for a signal; if it `timed_out`, all of it was killed.
    `stdout` and `stderr` contain head and tail when longer than the limit; a line between them gives the number of
    bytes left out, and `truncated` is set. `seconds` is wall time, `cpu_seconds` user plus system time of everything
    the command started, including killed processes. A program that does not exist exits 127, one that cannot run 126.
    `killed_for_memory`: the kernel killed it or a process of it for want of memory; `over_memory`: of the sandbox's.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    truncated: bool
    seconds: float
    cpu_seconds: float
    killed_for_memory: bool = False
    over_memory: bool = False

    @property
    def was_killed(self) -> bool:
        """Whether a signal of `KILLS`, not ours, ended the command or the last program of a shell."""
        return self.exit_code in KILLED and not self.timed_out

    @property
    def text(self) -> str:
        """stdout then stderr as text, with undecodable bytes replaced: the text shown to people and models."""
        return (self.stdout + self.stderr).decode("utf-8", "replace")


class Sandbox(Protocol):
    """One live sandbox. Commands run one at a time, each as a fresh process; files stay between commands.

    Relative paths start at `/testbed`. Any thread may call any method; `close` ends a command running in another.

    Processes a command leaves in the background are killed when it returns. `own_env`: see `World.own_env`, for our own
    programs.
    """

    own_env: Mapping[str, str]

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
        """Run `command` (a string goes to `bash -c`, a sequence is an argv); `env` adds to the world's.

        `merge_stderr` sends stderr into stdout, in the order written. Raises `SandboxLost` when the sandbox itself is
        gone, `SandboxClosed` when it was closed, `InsideError` for a command that is empty or holds a null byte; a
        failing, killed, timed-out or missing one is a `Completed`, never an exception.
        """
        ...

    def stream(
        self, command: str | Sequence[str], *, timeout: float, env: Mapping[str, str] | None = None
    ) -> AbstractContextManager[IO[bytes]]:
        """Run `command` in `/testbed` and read its whole stdout, of any length, while it runs.

        The command waits while nothing is read, so only one piece is held in memory. Leaving the context before the end
        of the stream kills it; until then no other command of this sandbox may run. Reading past the last byte raises
        `InsideError` when the command failed or ran longer than `timeout` seconds. Used by one thread.
        """
        ...

    def read_file(self, path: str, max_bytes: int = 16 * MIB) -> bytes:
        """The bytes of one regular file inside. Raises `FileNotFoundError`, or `InsideError` when it is too large,
        not a regular file, or unreadable."""
        ...

    def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write one file inside, making its folders. Raises `InsideError` (a full disk says so)."""
        ...

    def close(self) -> None:
        """Kill everything inside and free it all. Safe to call twice."""
        ...


class Backend(Protocol):
    """Creates sandboxes. One backend object serves many threads.

    `image_id`: identifies the image whose programs run inside, empty for this machine's own programs.
    """

    @property
    def name(self) -> str: ...

    @property
    def python(self) -> str:
        """The interpreter that every sandbox has, for our own programs."""
        ...

    @property
    def image_id(self) -> str:
        """The user's image that sandboxes run; empty if they run this machine's own programs."""
        ...

    def open(self, world: World, limits: Limits = Limits()) -> AbstractContextManager[Sandbox]:
        """A started sandbox, closed when the context ends. Raises `SandboxError`; `SandboxLost` if it was lost while
        starting."""
        ...

    def close(self) -> None:
        """End every live sandbox; their users get `SandboxGone`. A later `open` starts again."""
        ...

    def owner(self) -> tuple[int, int]:
        """(uid, gid) that must own a folder for the sandbox to write to it; trees and environments are given to it."""
        ...
