"""The output of one command, sent piece by piece as the supervisor requests it: the agent's side of a stream.

Nothing is read ahead: until a piece is requested, the command waits at a full pipe, so that neither the agent nor the
supervisor ever holds more than one piece. stderr is kept as for every command.
"""

import posix
import select
import time

from selfplay.sandbox.messages import NEXT, PIECE, pack
from selfplay.sandbox.streams import CHUNK, Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_WAIT = 3600.0
SHORT_WAIT = 0.005
REQUESTS = 0


class Outflow:
    """A running command whose stdout leaves in pieces, each after one NEXT on descriptor 0.

    `ended`: a descriptor that becomes readable when `child` ends, or -1. `kill_all` ends and reaps every other process
    and returns their cpu seconds; `send` writes an answer to the supervisor.
    """

    def __init__(
        self, child: int, ended: int, streams: Streams, kill_all: "Callable[[], float]", send: "Callable[[bytes], None]"
    ) -> None:
        self.child, self.ended, self.streams = child, ended, streams
        self.kill_all, self.send = kill_all, send
        self.asked, self.status, self.used = True, -1, 0.0
        self.running, self.stopped = True, False
        self.poll = streams.poll
        self.reader = next(end for end, kept in streams.sinks.items() if kept is streams.out)
        if ended >= 0:
            self.poll.register(ended, select.POLLIN)
        self.poll.register(REQUESTS, 0)  # reports that the supervisor hung up, and nothing else

    def hand_on(self, deadline: float) -> "tuple[int | None, float]":
        """(wait status, cpu seconds) when the command has ended and its last piece is requested; status None if the
        deadline passed first, or the supervisor wants no more."""
        while (self.running or self.reader >= 0) and not self.stopped:
            left = deadline - time.monotonic()
            if left <= 0:
                self.stopped = True
                break
            self.turn(min(left, LONGEST_WAIT if self.ended >= 0 else SHORT_WAIT))
        self.used += self.kill_all()
        self.leave()
        return (None if self.stopped else self.status), self.used

    def turn(self, seconds: float) -> None:
        ready = {end for end, _ in self.poll.poll(seconds * 1000)}
        if REQUESTS in ready:
            self.hear()
        if self.reader in ready and self.asked:
            self.hand_piece()
        for end in ready - {REQUESTS, self.reader, self.ended}:
            self.streams.serve(end)
        if self.running and (self.ended in ready or self.ended < 0):
            self.reap(0 if self.ended >= 0 else posix.WNOHANG)

    def hear(self) -> None:
        """Read a request: NEXT asks for a piece, any other byte ends the stream; if the supervisor is gone, end
        everything."""
        word = b"" if self.asked else posix.read(REQUESTS, 1)
        if not word:
            posix._exit(0)
        self.asked, self.stopped = True, word != NEXT
        self.poll.register(REQUESTS, 0)
        if self.reader >= 0:
            self.poll.register(self.reader, select.POLLIN)

    def hand_piece(self) -> None:
        """Send the content of the pipe, at most one piece."""
        data = bytearray()
        while len(data) < PIECE:
            try:
                more = posix.read(self.reader, CHUNK)
            except BlockingIOError:
                break
            if not more:
                self.close_reader()
                break
            data += more
        if data:
            self.send(pack([b"piece", bytes(data)]))
            self.asked = False
            self.poll.register(REQUESTS, select.POLLIN)
            if self.reader >= 0:  # a pipe without writers is always ready
                self.poll.unregister(self.reader)

    def close_reader(self) -> None:
        self.streams.drop(self.reader)
        del self.streams.sinks[self.reader]
        self.reader = -1

    def reap(self, how: int) -> None:
        """Note the end of the command, and end the processes it left: nothing else may write to the pipe any more."""
        pid, status, usage = posix.wait4(self.child, how)
        if not pid:
            return
        self.running, self.status = False, status
        self.used += usage.ru_utime + usage.ru_stime + self.kill_all()
        if self.ended >= 0:
            self.poll.unregister(self.ended)

    def leave(self) -> None:
        """Close everything, and wait until the last answer is requested."""
        if self.reader >= 0:
            self.poll.register(self.reader, 0)
            self.close_reader()
        if self.ended >= 0:
            posix.close(self.ended)
        if not self.asked and not posix.read(REQUESTS, 1):
            posix._exit(0)
