"""The pipes of one command, on the agent's side: fed and read without blocking, kept in bounded memory."""

import posix
import select

CHUNK = 1 << 16


class Kept:
    """The head and the tail of a stream, at most `cap` bytes of it, in bounded memory."""

    def __init__(self, cap: int) -> None:
        self.half = max(cap // 2, 1)
        self.head, self.tail, self.total = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self.half - len(self.head)
        self.head += data[:room]
        self.tail += data[max(room, 0) :]
        if len(self.tail) > 2 * self.half:
            del self.tail[: -self.half]

    @property
    def truncated(self) -> bool:
        return self.total > 2 * self.half

    def kept(self) -> bytes:
        if not self.truncated:
            return bytes(self.head + self.tail)
        tail = self.tail[-self.half :]
        left_out = self.total - len(self.head) - len(tail)
        return bytes(self.head) + b"\n[... %d bytes left out ...]\n" % left_out + bytes(tail)


class Streams:
    """The pipes of one command: feeds its stdin and keeps its output, without blocking."""

    def __init__(self, stdin: bytes, cap: int, merge: bool) -> None:
        self.pending = memoryview(stdin)
        self.out, self.err, self.merged = Kept(cap), Kept(cap), merge
        self.sinks: dict[int, Kept] = {}
        self.theirs: list[int] = []
        self.feed = -1
        self.poll = select.poll()
        first = self.output(self.out)
        second = first if merge else self.output(self.err)
        self.ends = (self.input() if stdin else self.given(posix.open("/dev/null", posix.O_RDONLY)), first, second)

    def given(self, end: int) -> int:
        self.theirs.append(end)
        return end

    def output(self, kept: Kept) -> int:
        reader, writer = posix.pipe()
        posix.set_blocking(reader, False)
        self.sinks[reader] = kept
        self.poll.register(reader, select.POLLIN)
        return self.given(writer)

    def input(self) -> int:
        reader, self.feed = posix.pipe()
        posix.set_blocking(self.feed, False)
        self.poll.register(self.feed, select.POLLOUT)
        return self.given(reader)

    def handed_over(self) -> None:
        for end in self.theirs:
            posix.close(end)

    def serve(self, ready: int) -> None:
        if ready in self.sinks:
            self.take(ready)
        elif ready == self.feed:
            self.give()

    def take(self, reader: int) -> bool:
        """Read once. Returns whether the pipe may hold more."""
        try:
            data = posix.read(reader, CHUNK)
        except BlockingIOError:
            return False
        if data:
            self.sinks[reader].add(data)
        else:
            self.drop(reader)
            del self.sinks[reader]
        return bool(data)

    def give(self) -> None:
        try:
            self.pending = self.pending[posix.write(self.feed, self.pending[:CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.pending = self.pending[:0]
        if not self.pending:
            self.drop(self.feed)
            self.feed = -1

    def drop(self, end: int) -> None:
        self.poll.unregister(end)
        posix.close(end)

    def drain(self) -> None:
        """Read what the pipes still contain when every writer is dead. Their ends may still be open, in messages that
        nobody received: the kernel closes those when it likes."""
        if self.feed >= 0:
            self.drop(self.feed)
        for reader in tuple(self.sinks):
            while self.take(reader):
                pass
            if reader in self.sinks:
                self.drop(reader)
                del self.sinks[reader]
