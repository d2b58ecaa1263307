"""The process inside a sandbox: pid 1 of its namespace. It answers requests one after another over one stream.

Requests arrive on descriptor 0 and answers leave on 1: one socket under bubblewrap, two pipes of the engine under
Docker. It runs on a bare interpreter (`-I -S`) with the few modules sent along, and imports only what loads in
microseconds: `posix` for `os`, and no `json`, which alone would double the start time. The supervisor does not import
it.

Being pid 1 makes three guarantees cheap: no signal from inside can kill or stop it, `kill(-1)` reaches every process a
command left behind, and `wait` reports each of them. It is not dumpable, so commands (which share its uid) cannot read
its memory or its socket through `/proc` and forge an answer. After a while without requests an agent rests
(`hibernation.py`).
"""

import _ctypes
import _signal as signal  # type: ignore[import-not-found]  # the public module costs 5 ms: it makes enumerations
import posix
import resource
import select
import sys
import time
from _stat import S_ISREG

from selfplay.sandbox.command_start import Beginning, forget_signals
from selfplay.sandbox.crowd import LOOK_SECONDS, Crowded, refuse_crowd
from selfplay.sandbox.ending import Undying, kill_all
from selfplay.sandbox.hibernation import keep_only, rest
from selfplay.sandbox.messages import COUNT, DONE, LENGTH, RUN, SETTINGS, WAKE, WOKEN, pack, unpack
from selfplay.sandbox.stream_writer import Outflow
from selfplay.sandbox.streams import Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedReader

SHORT_WAIT = 0.005
REQUESTS, ANSWERS = 0, 1
PR_SET_DUMPABLE = 4
FEW = {resource.RLIMIT_SIGPENDING: 1024, resource.RLIMIT_MSGQUEUE: 1 << 18, resource.RLIMIT_MEMLOCK: 1 << 20}
"""Resources that the kernel counts for all processes of a user: pending signals (including timers), bytes of message
queues, locked memory. Each sandbox gets little, because several may share a user."""


def set_dumpable(value: int) -> None:
    """`prctl` through the C half of ctypes: the Python half costs milliseconds."""
    library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
    prctl = _ctypes.dlsym(library, "prctl")
    if _ctypes.call_function(prctl, (PR_SET_DUMPABLE, value, 0, 0, 0)) != 0:
        raise OSError("PR_SET_DUMPABLE is refused")


STACK_BYTES = 64 << 20
"""To what a stack may be made to grow where data alone is bounded: it is none."""


def restrict(processes: int, own: int, file_bytes: int, data_bytes: int, descriptors: int) -> None:
    """Resource limits of this process, which every command inherits and cannot raise. `own`: this process's threads."""
    wanted = {resource.RLIMIT_NOFILE: descriptors, resource.RLIMIT_FSIZE: file_bytes} | FEW
    if processes:
        wanted[resource.RLIMIT_NPROC] = processes + own
    if data_bytes:
        wanted |= {resource.RLIMIT_DATA: data_bytes, resource.RLIMIT_STACK: STACK_BYTES}
    for what, ceiling in wanted.items():
        now, most = resource.getrlimit(what)
        if most != resource.RLIM_INFINITY:
            ceiling = min(ceiling, most)
        kept = what == resource.RLIMIT_STACK and 0 <= now < ceiling  # each thread gets as much
        resource.setrlimit(what, (now if kept else ceiling, ceiling))


def run(
    beginning: Beginning, command: bytes, env: bytes, cwd: bytes, stdin: bytes, settings: bytes, *, flows: bool = False
) -> list[bytes]:
    """Run one command, from its start until all of its processes are gone. `flows`: send its stdout in pieces."""
    timeout, cap, merge = RUN.unpack(settings)
    argv = command.split(b"\0")
    variables = dict(entry.split(b"=", 1) for entry in env.split(b"\0") if entry)
    streams = Streams(stdin, cap, merge)
    started = time.monotonic()
    deadline = started + timeout
    try:
        child = beginning.start(argv, variables, cwd, streams.ends)
    except OSError:
        streams.handed_over()
        streams.drain()
        raise
    streams.handed_over()
    try:
        if flows:
            status, used = Outflow(child, handle(child), streams, kill_all, send).hand_on(deadline)
        else:
            status, used = wait(child, streams, deadline)
            used += kill_all()
    except OSError:
        kill_all()  # nothing of it may live beside the next command
        streams.drain()
        raise
    streams.drain()
    timed_out = status is None
    code = -signal.SIGKILL if status is None else posix.waitstatus_to_exitcode(status)
    truncated = streams.out.truncated or streams.err.truncated
    done = DONE.pack(code, timed_out, truncated, time.monotonic() - started, used)
    return [b"done", done, streams.out.kept(), streams.err.kept()]


def wait(child: int, streams: Streams, deadline: float) -> "tuple[int | None, float]":
    """(wait status, cpu seconds) once `child` ends; status None when the deadline passes first. Raises `Crowded`."""
    ended = handle(child)
    step, how = (LOOK_SECONDS, 0) if ended >= 0 else (SHORT_WAIT, posix.WNOHANG)
    look = time.monotonic() + LOOK_SECONDS
    if ended >= 0:
        streams.poll.register(ended, select.POLLIN)
    streams.poll.register(REQUESTS, 0)  # reports that the supervisor hung up, and nothing else
    try:
        while True:
            now = time.monotonic()
            left = deadline - now
            if left <= 0:
                return None, 0.0
            if now >= look:
                refuse_crowd()
                look = now + LOOK_SECONDS
            ready = [end for end, _ in streams.poll.poll(min(left, step) * 1000)]
            if REQUESTS in ready:
                posix._exit(0)  # and, as this is pid 1, everything else ends with it
            for end in ready:
                streams.serve(end)
            if ended in ready or ended < 0:
                pid, status, usage = posix.wait4(child, how)
                if pid:
                    return status, usage.ru_utime + usage.ru_stime
    finally:
        if ended >= 0:
            posix.close(ended)


def handle(child: int) -> int:
    """A descriptor that becomes readable when `child` ends; -1 if the kernel, or an old engine's filter, does not
    support it."""
    try:
        return posix.pidfd_open(child)
    except OSError:
        return -1


def read_file(path: bytes, limit: bytes) -> list[bytes]:
    (most,) = LENGTH.unpack(limit)
    descriptor = posix.open(path, posix.O_RDONLY | posix.O_NONBLOCK | posix.O_NOCTTY)
    if not S_ISREG(posix.fstat(descriptor).st_mode):
        posix.close(descriptor)  # a stream of a folder would be refused, and leave it open
        return [b"refused", b"is not a regular file"]
    with open(descriptor, "rb") as stream:
        data = stream.read(most + 1)
    return [b"refused", b"is larger than %d bytes" % most] if len(data) > most else [b"data", data]


def make_folders(path: bytes) -> None:
    """Make every folder on an absolute path. A file in the way is reported by the later open."""
    names = path.split(b"/")
    for count in range(2, len(names)):
        try:
            posix.mkdir(b"/".join(names[:count]))
        except FileExistsError:
            pass


def write_file(path: bytes, permissions: bytes, data: bytes) -> list[bytes]:
    (mode,) = COUNT.unpack(permissions)
    make_folders(path)
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_NONBLOCK | posix.O_NOCTTY
    with open(posix.open(path, flags, 0o600), "wb") as stream:
        if not S_ISREG(posix.fstat(stream.fileno()).st_mode):  # such as a link to our own answers
            return [b"refused", b"is not a regular file"]
        stream.write(data)
        stream.flush()
        posix.fchmod(stream.fileno(), mode)
    return [b"data", b""]


def next_request(requests: "BufferedReader", woken: bool, idle: float, kept: tuple[int, ...]) -> list[bytes]:
    """Wait for the next request, and rest after `idle` seconds. `woken`: the shell has already read its first byte.
    Raises `EOFError`."""
    if not woken:
        arrival = select.poll()
        arrival.register(REQUESTS, select.POLLIN)
        while idle and not arrival.poll(idle * 1000):
            kill_all()  # a surviving process could open what the shell inherits
            rest(kept)
        if exactly(requests, 1) != WAKE:
            raise EOFError
    return unpack(lambda size: exactly(requests, size), 1 << 40)


def serve(beginning: Beginning, woken: bool, idle: float, kept: tuple[int, ...]) -> None:
    """Answer requests until the supervisor hangs up. It waits for each answer, so no request is read ahead."""
    handlers: dict[bytes, Callable[..., list[bytes]]] = {b"read": read_file, b"write": write_file}
    handlers[b"run"] = lambda *parts: run(beginning, *parts)
    handlers[b"stream"] = lambda *parts: run(beginning, *parts, flows=True)
    with open(posix.dup(REQUESTS), "rb") as requests:
        while True:
            try:
                kind, *parts = next_request(requests, woken, idle, kept)
            except EOFError:
                return
            woken = False
            try:
                answer = handlers[kind](*parts)
            except Undying:
                answer = [b"undying"]
            except Crowded:
                answer = [b"crowded"]
            except OSError as error:
                answer = [b"errno", LENGTH.pack(error.errno or 0), (error.strerror or str(error)).encode()]
            send(pack(answer))


def exactly(stream: "BufferedReader", size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def send(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[posix.write(ANSWERS, view) :]


def main() -> None:
    place, settings, state = sys.argv[-3:]
    processes, file_bytes, data_bytes, idle, groups, descriptors = SETTINGS.unpack(bytes.fromhex(settings))
    kept = (REQUESTS, ANSWERS)
    if idle:  # under bubblewrap: the descriptor of its program, then those of the commands' groups
        program = int(place.rpartition("/")[2])
        kept = (*kept, *range(program, program + 1 + groups))
    keep_only(kept)
    first_killed = posix.open("/proc/self/oom_score_adj", posix.O_RDWR)  # only root can open it later
    set_dumpable(0)
    forget_signals()
    posix.umask(0o022)
    beginning = Beginning(first_killed, kept[3:])
    restrict(processes, beginning.own_threads, file_bytes, data_bytes, descriptors)
    if state != WOKEN:
        send(pack([b"ready"]))
    serve(beginning, state == WOKEN, idle, kept)


if __name__ == "__main__":
    main()
