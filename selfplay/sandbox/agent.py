"""The process inside a sandbox: pid 1 of its namespace, one request after another over one socket.

It runs as a bare script on a bare interpreter (`-I -S`), so it imports only what starts in microseconds; `json` alone
would double the start time. The supervisor imports this module for the message format, nothing else.

Being pid 1 makes three promises cheap: no signal from inside can kill or stop it, `kill(-1)` reaches every process a
command left behind, and `wait` reports each of them. It is not dumpable, so commands (which share its uid) cannot read
its memory or its socket through `/proc` and forge an answer.

A message is a list of byte strings: their number, their lengths, then the bytes. Nothing from inside is ever
unpickled, evaluated or used as a path outside.
"""

import os
import resource
import select
import stat
import struct
import sys
import time

import _ctypes
import _signal as signal  # the public module costs five milliseconds: it makes enumerations

COUNT = struct.Struct("!I")
LENGTH = struct.Struct("!Q")
RUN = struct.Struct("!dQ?")  # timeout in seconds, bytes kept of each stream, merge stderr
DONE = struct.Struct("!i??dd")  # exit code, timed out, truncated, wall seconds, cpu seconds
LIMITS = struct.Struct("!QQQ")  # processes, bytes of one file, bytes of data of one process (0: not limited here)
ENOENT = 2
CHUNK = 1 << 16
OPEN_FILES = 4096
SOCKET = 0
PR_SET_DUMPABLE = 4


def pack(parts):
    """One message as bytes."""
    lengths = b"".join(LENGTH.pack(len(part)) for part in parts)
    return b"".join((COUNT.pack(len(parts)), lengths, *parts))


def unpack(read, most):
    """One message from `read(n) -> bytes`. Raises ValueError when it is longer than `most` bytes or absurd."""
    (count,) = COUNT.unpack(read(COUNT.size))
    if count > 16:
        raise ValueError(f"a message of {count} parts")
    lengths = [LENGTH.unpack(read(LENGTH.size))[0] for _ in range(count)]
    if sum(lengths) > most:
        raise ValueError(f"a message of {sum(lengths)} bytes where {most} are the most")
    return [read(length) for length in lengths]


class Kept:
    """The head and the tail of a stream, at most `cap` bytes of it, in bounded memory."""

    def __init__(self, cap):
        self.half = max(cap // 2, 1)
        self.head, self.tail, self.total = bytearray(), bytearray(), 0

    def add(self, data):
        self.total += len(data)
        room = self.half - len(self.head)
        self.head += data[:room]
        self.tail += data[max(room, 0) :]
        if len(self.tail) > 2 * self.half:
            del self.tail[: -self.half]

    @property
    def truncated(self):
        return self.total > 2 * self.half

    def bytes(self):
        if not self.truncated:
            return bytes(self.head + self.tail)
        tail = self.tail[-self.half :]
        left_out = self.total - len(self.head) - len(tail)
        return bytes(self.head) + b"\n[... %d bytes left out ...]\n" % left_out + bytes(tail)


def set_dumpable(value):
    """`prctl` through the C half of ctypes: the Python half costs milliseconds."""
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")
    if _ctypes.call_function(prctl, (PR_SET_DUMPABLE, value, 0, 0, 0)) != 0:
        raise OSError("PR_SET_DUMPABLE is refused")


def restrict(processes, file_bytes, data_bytes):
    """Ceilings of this process, which every command inherits and none can raise."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most)
    ceilings = {resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: files, resource.RLIMIT_FSIZE: file_bytes}
    ceilings[resource.RLIMIT_NPROC] = processes + 1  # and this one
    if data_bytes:
        ceilings[resource.RLIMIT_DATA] = data_bytes
    for what, ceiling in ceilings.items():
        resource.setrlimit(what, (ceiling, ceiling))


def spawn(argv, env, cwd, streams, first_killed):
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


def kill_all():
    """Kill every other process of the namespace and reap it; returns the cpu seconds they had used."""
    try:  # noqa: SIM105 - contextlib costs a millisecond
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


class Streams:
    """The pipes of one command: feeds its stdin and keeps its output, without ever blocking on either."""

    def __init__(self, stdin, cap, merge):
        self.pending = memoryview(stdin)
        self.out, self.err, self.merged = Kept(cap), Kept(cap), merge
        self.sinks, self.feed, self.theirs = {}, -1, []
        self.poll = select.poll()
        first = self.output(self.out)
        second = first if merge else self.output(self.err)
        self.ends = (self.input() if stdin else self.given(os.open("/dev/null", os.O_RDONLY)), first, second)

    def given(self, end):
        self.theirs.append(end)
        return end

    def output(self, kept):
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        self.sinks[reader] = kept
        self.poll.register(reader, select.POLLIN)
        return self.given(writer)

    def input(self):
        reader, self.feed = os.pipe()
        os.set_blocking(self.feed, False)
        self.poll.register(self.feed, select.POLLOUT)
        return self.given(reader)

    def handed_over(self):
        for end in self.theirs:
            os.close(end)

    def serve(self, ready):
        if ready in self.sinks:
            self.take(ready)
        elif ready == self.feed:
            self.give()

    def take(self, reader):
        try:
            data = os.read(reader, CHUNK)
        except BlockingIOError:
            return
        if data:
            self.sinks[reader].add(data)
        else:
            self.drop(reader)
            del self.sinks[reader]

    def give(self):
        try:
            self.pending = self.pending[os.write(self.feed, self.pending[:CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.pending = self.pending[:0]
        if not self.pending:
            self.drop(self.feed)
            self.feed = -1

    def drop(self, end):
        self.poll.unregister(end)
        os.close(end)

    def drain(self):
        """What the pipes still hold once every writer is dead."""
        if self.feed >= 0:
            self.drop(self.feed)
        while self.sinks:
            for reader in tuple(self.sinks):
                self.take(reader)


def run(first_killed, argv, env, cwd, stdin, settings):
    """One command, from its start until nothing of it is left."""
    timeout, cap, merge = RUN.unpack(settings)
    argv, env = argv.split(b"\0"), dict(entry.split(b"=", 1) for entry in env.split(b"\0") if entry)
    streams = Streams(stdin, cap, merge)
    started = time.monotonic()
    try:
        child = spawn(argv, env, cwd, streams, first_killed)
    except OSError as error:
        status, used = could_not_start(error, streams), 0.0
    else:
        status, used = wait(child, streams, started + timeout)
        used += kill_all()
    streams.drain()
    timed_out = status is None
    code = -signal.SIGKILL if timed_out else os.waitstatus_to_exitcode(status)
    truncated = streams.out.truncated or streams.err.truncated
    done = DONE.pack(code, timed_out, truncated, time.monotonic() - started, used)
    return [b"done", done, streams.out.bytes(), streams.err.bytes()]


def could_not_start(error, streams):
    """The wait status a shell would have given: 127 for a program that is not there, 126 for one that will not run."""
    kept = streams.out if streams.merged else streams.err
    kept.add(b"%s: %s\n" % (os.fsencode(error.filename or b"?"), os.fsencode(error.strerror)))
    return (127 if error.errno == ENOENT else 126) << 8


def wait(child, streams, deadline):
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


def read_file(path, most):
    (most,) = LENGTH.unpack(most)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return [b"refused", b"is not a regular file"]
        data = stream.read(most + 1)
    return [b"refused", b"is larger than %d bytes" % most] if len(data) > most else [b"data", data]


def write_file(path, mode, data):
    (mode,) = COUNT.unpack(mode)
    os.makedirs(os.path.dirname(path) or b".", exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_NOCTTY
    with os.fdopen(os.open(path, flags, 0o600), "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
    return [b"data", b""]


def serve(first_killed):
    """Answer requests until the supervisor hangs up."""
    handlers = {b"run": lambda *parts: run(first_killed, *parts), b"read": read_file, b"write": write_file}
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


def exactly(stream, size):
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def send(data):
    view = memoryview(data)
    while view:
        view = view[os.write(SOCKET, view) :]


def main():
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
