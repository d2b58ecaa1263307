"""The helper process that starts sandboxes: small, single-threaded, and alive as long as the supervisor.

Why a process: `--die-with-parent` is per thread, and this one's only thread lives on. Forking it is cheap and safe;
forking a supervisor with threads is neither. And it prepares mounts that the host does not see, which bwrap cannot do:

- as root, every source is bind-mounted at a plain name *before* the uid is dropped, so that trees, environments and
  interpreters under a 0700 home are still found after it (bwrap resolves paths, even of `--ro-bind-fd`, as the caller);
- the writable layer lies on a tmpfs with a size, which `--tmp-overlay` cannot give;
- the system part (`/usr`, a small `/etc`) is put together once: bwrap reads all mounts for every bind;
- each sandbox gets overlays and devices of its own, since the kernel keeps locks and watches with a file.

The process moves into its own root: the system part at its usual paths, the host at HOST (unmounted in each child
before bwrap starts), and SHELF, one sized tmpfs per sandbox with its sources and its writable folders. After each start
it makes the next child, which does what all sandboxes need and waits: that is a seventh of a start (`preparing.py`).
"""

import contextlib
import fcntl
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from selfplay.sandbox.mounting import leave_session_keyring, user_space
from selfplay.sandbox.own_root import move_into_own_root
from selfplay.sandbox.preparing import AGENT_FD, begin, finish

REQUESTS, ANSWERS, ERRORS, SECCOMP_FD = 0, 1, 2, 100
MESSAGE_BYTES = 1 << 20
NO_CORE = 1
"""Bytes of a core dump: too few, and the one value, unlike 0, with which the kernel starts no handler, a program of its
root's."""
SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


class Common(NamedTuple):
    """What all sandboxes share: the descriptors of their system-call filter and of the agent's program, and the folders
    of the system part of which each has a file system of its own."""

    seccomp: int
    agent: int
    overlaid: list[str]


class Waiting:
    """A child that has no request yet: it does the first half of the preparation and waits."""

    def __init__(self, common: Common, requests: socket.socket) -> None:
        """Raises `OSError` if no process can be started."""
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE_BYTES)
        with theirs:
            self._child = os.fork()
            if self._child == 0:
                for end in (self._link, requests):  # else nobody would see the launcher end
                    end.close()
                as_child(lambda: wait(theirs, common))

    def is_ready(self) -> bool:
        """Whether it has finished the first half, or is dead."""
        return bool(select.select([self._link], [], [], 0)[0])

    def hand_over(self, request: dict[str, Any], descriptors: list[int]) -> bool:
        """Whether it becomes this sandbox; of no use afterwards in either case."""
        with self._link, contextlib.suppress(OSError):  # the user may have too many descriptors in flight
            if self._link.recv(1):
                socket.send_fds(self._link, [json.dumps(request).encode()], descriptors)
                return True
        return False

    def close(self) -> None:
        """End it."""
        self._link.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._child, 0)


def wait(link: socket.socket, common: Common) -> None:
    """The life of a child that has no request yet. Whatever fails before it has one, the next child reports."""
    with contextlib.suppress(OSError):
        begin(common.overlaid)
        link.send(b"r")
        request, descriptors = receive(link)
        if not request:
            return
    become(request, descriptors, common)


def start(request: dict[str, Any], descriptors: list[int], common: Common) -> None:
    """A child that begins and becomes this sandbox."""
    try:
        if os.fork():
            return
    except OSError as error:  # no process is left: the other sandboxes live on
        os.write(descriptors[1], f"no process can be started: {error.strerror}\n".encode())
        return
    as_child(lambda: become(request, descriptors, common, begun=False))


def as_child(life: Callable[[], None]) -> NoReturn:
    """Live, and end."""
    try:
        life()
    except BaseException as error:
        os.write(ERRORS, f"{error}\n".encode())
    finally:
        os._exit(1)


def become(request: dict[str, Any], descriptors: list[int], common: Common, *, begun: bool = True) -> None:
    """Become a sandbox. The agent itself answers the supervisor, with its first message or a closed socket.
    `descriptors`: the agent's socket, the file for errors and, if it has one, the user namespace of the sandbox's uid;
    `begun`: the first half is done."""
    agent_socket, errors, *space = descriptors
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ends = {ERRORS: errors, REQUESTS: agent_socket, ANSWERS: agent_socket, AGENT_FD: common.agent}
    for target, source in ends.items():
        os.dup2(source, target)
    # each bwrap reads it from the start, so each needs its own open file, not only a descriptor
    os.dup2(os.open(f"/proc/self/fd/{common.seccomp}", os.O_RDONLY | os.O_CLOEXEC), SECCOMP_FD)
    if not begun:
        begin(common.overlaid)
    finish(request, space[0] if space else None)
    os.execve(request["argv"][0], request["argv"], {})


def space_of(request: dict[str, Any], spaces: dict[int, int]) -> list[int]:
    """The user namespace of this sandbox's uid, if there is one. `spaces`: uid -> namespaces made so far."""
    own = request["own"]
    if own and own not in spaces:
        with contextlib.suppress(OSError):  # the next one tries again
            spaces[own] = user_space(request["shared"], own)
    return [spaces[own]] if own in spaces else []


def filled(name: str, data: bytes) -> int:
    """A sealed memory file with `data`: every sandbox sees the same file, and cannot change it."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(descriptor, data)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    return descriptor


def reap(*_: object) -> None:
    """Collect ended sandboxes."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def receive(link: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """One request and the descriptors sent with it; empty if the other side closed the connection."""
    message, descriptors, _, _ = socket.recv_fds(link, MESSAGE_BYTES, 3, socket.MSG_CMSG_CLOEXEC)
    return json.loads(message or b"{}"), descriptors


def main() -> None:
    """Serve the supervisor until it ends. The arguments: the socket, the supervisor's pid."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.set_inheritable(False)
    supervisor = int(sys.argv[2])
    alive = os.pidfd_open(supervisor)
    if os.getppid() != supervisor:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor handles Ctrl-C
    signal.signal(signal.SIGCHLD, reap)
    with contextlib.suppress(ValueError):  # an ordinary user may not raise it; `ulimits.crashes` says so
        resource.setrlimit(resource.RLIMIT_CORE, (NO_CORE, NO_CORE))
    leave_session_keyring()
    system, _ = receive(requests)
    agent, seccomp = (filled(name, bytes.fromhex(system[name])) for name in ("agent", "seccomp"))
    try:
        move_into_own_root(system)
    except OSError as error:
        sys.exit(str(error))
    gc.disable()
    gc.freeze()  # memory allocated so far stays shared with every child
    serve(requests, alive, Common(seccomp, agent, system["overlaid"]))


def serve(requests: socket.socket, alive: int, common: Common) -> None:
    """Start sandboxes until the supervisor ends. When nothing is asked for, a child for the next one is made."""
    spaces: dict[int, int] = {}
    waiting: Waiting | None = None
    ends: list[Any] = [requests, alive]
    while alive not in select.select(ends, [], [])[0]:
        request, descriptors = receive(requests)
        if not request:
            break
        given = [*descriptors, *space_of(request, spaces)]
        taken = False
        if waiting is not None and waiting.is_ready():
            taken, waiting = waiting.hand_over(request, given), None
        if not taken:
            start(request, given, common)
        for descriptor in descriptors:
            os.close(descriptor)
        if waiting is None and not select.select(ends, [], [], 0)[0]:
            with contextlib.suppress(OSError):  # the next start says so
                waiting = Waiting(common, requests)
    if waiting is not None:
        waiting.close()


if __name__ == "__main__":
    main()
