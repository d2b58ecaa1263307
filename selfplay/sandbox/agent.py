"""The process inside a sandbox: pid 1 of its namespace, one request after another over one socket.

It runs on a bare interpreter (`-I -S`) with two modules of its own handed over with it, so it imports only what starts
in microseconds; `json` alone would double the start time. The supervisor does not import it.

Being pid 1 makes three promises cheap: no signal from inside can kill or stop it, `kill(-1)` reaches every process a
command left behind, and `wait` reports each of them. It is not dumpable, so commands (which share its uid) cannot read
its memory or its socket through `/proc` and forge an answer.
"""

import _ctypes
import _signal as signal  # type: ignore[import-not-found]  # the public module costs 5 ms: it makes enumerations
import os
import resource
import select
import stat
import sys
import time

from selfplay.sandbox.messages import COUNT, DONE, LENGTH, LIMITS, RUN, pack, unpack
from selfplay.sandbox.streams import Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedReader

ENOENT = 2
OPEN_FILES = 4096
SOCKET = 0
PR_SET_DUMPABLE = 4


def set_dumpable(value: int) -> None:
    """`prctl` through the C half of ctypes: the Python half costs milliseconds."""
    library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
    prctl = _ctypes.dlsym(library, "prctl")
    if _ctypes.call_function(prctl, (PR_SET_DUMPABLE, value, 0, 0, 0)) != 0:
        raise OSError("PR_SET_DUMPABLE is refused")


def restrict(processes: int, file_bytes: int, data_bytes: int) -> None:
    """Ceilings of this process, which every command inherits and none can raise."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most)
    ceilings = {resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: files, resource.RLIMIT_FSIZE: file_bytes}
    ceilings[resource.RLIMIT_NPROC] = processes + 1  # and this one
    if data_bytes:
        ceilings[resource.RLIMIT_DATA] = data_bytes
    for what, ceiling in ceilings.items():
        resource.setrlimit(what, (ceiling, ceiling))


def spawn(argv: list[bytes], env: dict[bytes, bytes], cwd: bytes, streams: "Streams", first_killed: int) -> int:
    """The pid of a new command. Raises OSError for a folder or program that is not there.

    `posix_spawn` does not copy this process as a fork would; in exchange, what it cannot set is set here and
    inherited: the folder, the search path, and a place at the head of the kernel's out-of-memory queue.
    """
    dup2 = [(os.POSIX_SPAWN_DUP2, end, target) for target, end in enumerate(streams.ends)]
    os.environb[b"PATH"] = env.get(b"PATH", b"/usr/bin:/bin")
    os.pwrite(first_killed, b"500", 0)
    try:
        os.chdir(cwd)
        return os.posix_spawnp(
            argv[0], argv, env, file_actions=dup2, setsid=True, setsigdef=(signal.SIGPIPE, signal.SIGXFSZ)
        )
    finally:
        os.pwrite(first_killed, b"0", 0)
        streams.handed_over()


def kill_all() -> float:
    """Kill every other process of the namespace and reap it; returns the cpu seconds they had used."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass
    used = 0.0
    while True:
        try:
            _, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return used
        used += usage.ru_utime + usage.ru_stime


def run(first_killed: int, command: bytes, env: bytes, cwd: bytes, stdin: bytes, settings: bytes) -> list[bytes]:
    """One command, from its start until nothing of it is left."""
    timeout, cap, merge = RUN.unpack(settings)
    argv = command.split(b"\0")
    variables = dict(entry.split(b"=", 1) for entry in env.split(b"\0") if entry)
    streams = Streams(stdin, cap, merge)
    started, used = time.monotonic(), 0.0
    status: int | None
    try:
        child = spawn(argv, variables, cwd, streams, first_killed)
    except OSError as error:
        status = could_not_start(error, streams)
    else:
        status, used = wait(child, streams, started + timeout)
        used += kill_all()
    streams.drain()
    timed_out = status is None
    code = -signal.SIGKILL if timed_out else os.waitstatus_to_exitcode(status)
    truncated = streams.out.truncated or streams.err.truncated
    done = DONE.pack(code, timed_out, truncated, time.monotonic() - started, used)
    return [b"done", done, streams.out.kept(), streams.err.kept()]


def could_not_start(error: OSError, streams: Streams) -> int:
    """The wait status a shell would have given: 127 for a program that is not there, 126 for one that will not run."""
    kept = streams.out if streams.merged else streams.err
    kept.add(b"%s: %s\n" % (os.fsencode(error.filename or b"?"), os.fsencode(error.strerror or "failed")))
    return (127 if error.errno == ENOENT else 126) << 8


def wait(child: int, streams: Streams, deadline: float) -> "tuple[int | None, float]":
    """(wait status, cpu seconds) once `child` ends; status None when the deadline passes first."""
    ended = os.pidfd_open(child)
    streams.poll.register(ended, select.POLLIN)
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return None, 0.0
            ready = [end for end, _ in streams.poll.poll(left * 1000)]
            for end in ready:
                streams.serve(end)
            if ended in ready:
                _, status, usage = os.wait4(child, 0)
                return status, usage.ru_utime + usage.ru_stime
    finally:
        os.close(ended)


def read_file(path: bytes, limit: bytes) -> list[bytes]:
    (most,) = LENGTH.unpack(limit)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return [b"refused", b"is not a regular file"]
        data = stream.read(most + 1)
    return [b"refused", b"is larger than %d bytes" % most] if len(data) > most else [b"data", data]


def write_file(path: bytes, permissions: bytes, data: bytes) -> list[bytes]:
    (mode,) = COUNT.unpack(permissions)
    os.makedirs(os.path.dirname(path) or b".", exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_NOCTTY
    with os.fdopen(os.open(path, flags, 0o600), "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
    return [b"data", b""]


def serve(first_killed: int) -> None:
    """Answer requests until the supervisor hangs up."""
    handlers: dict[bytes, Callable[..., list[bytes]]] = {
        b"run": lambda *parts: run(first_killed, *parts),
        b"read": read_file,
        b"write": write_file,
    }
    with os.fdopen(os.dup(SOCKET), "rb") as requests:
        while True:
            try:
                kind, *parts = unpack(lambda size: exactly(requests, size), 1 << 40)
            except EOFError:
                return
            try:
                answer = handlers[kind](*parts)
            except OSError as error:
                answer = [b"errno", LENGTH.pack(error.errno or 0), os.fsencode(error.strerror or str(error))]
            send(pack(answer))


def exactly(stream: "BufferedReader", size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def send(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(SOCKET, view) :]


def main() -> None:
    os.closerange(3, OPEN_FILES)  # its own code, for one
    os.set_inheritable(SOCKET, False)
    first_killed = os.open("/proc/self/oom_score_adj", os.O_WRONLY)  # root's to open once we are not dumpable
    set_dumpable(0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # pid 1 without a handler cannot be interrupted from inside
    os.umask(0o022)
    restrict(*LIMITS.unpack(bytes.fromhex(sys.argv[1])))
    send(pack([b"ready"]))
    serve(first_killed)


if __name__ == "__main__":
    main()
