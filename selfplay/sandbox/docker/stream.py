"""The hijacked connection to a container's main process: raw bytes in, framed bytes out.

The engine puts eight bytes before each piece of output: its stream and its length. stdout carries the agent's answers;
of stderr the last few kilobytes are kept, because they say why an agent did not start.
"""

import socket
import struct
import time
from typing import Any

from selfplay.sandbox.live import left

HEADER = struct.Struct(">BxxxL")
STDOUT = 1
KEPT = 2000


class AttachedLink:
    """A `Link` to the agent in a container."""

    def __init__(self, attached: Any) -> None:
        self._attached = attached  # keeps the owner alive: collecting it would close the connection
        self._socket: socket.socket = getattr(attached, "_sock", attached)
        self._left = 0
        self._until: float | None = None
        self.errors = b""

    def settimeout(self, value: float | None, /) -> None:
        """How long a call may take as a whole: an agent that only writes to stderr gives no answer."""
        self._socket.settimeout(value)
        self._until = None if value is None else time.monotonic() + value

    def sendall(self, data: bytes, /) -> None:
        self._socket.sendall(data)

    def recv_into(self, buffer: memoryview, /) -> int:
        """Some bytes of the agent's answer; 0 at the end of the stream."""
        while self._left == 0:
            header = self._exactly(HEADER.size)
            if not header:
                return 0
            stream, size = HEADER.unpack(header)
            if stream == STDOUT:
                self._left = size
            else:
                self.errors = (self.errors + self._exactly(size))[-KEPT:]
        if self._until is not None:
            self._socket.settimeout(left(self._until))
        got = self._socket.recv_into(buffer[: self._left])
        self._left -= got
        return got

    def shutdown(self, how: int, /) -> None:
        self._socket.shutdown(how)

    def close(self) -> None:
        self._socket.close()
        self._attached.close()

    def _exactly(self, size: int) -> bytes:
        """Exactly `size` bytes, or none if the stream ends earlier."""
        data = bytearray()
        while len(data) < size:
            if self._until is not None:
                self._socket.settimeout(left(self._until))
            piece = self._socket.recv(size - len(data))
            if not piece:
                return b""
            data += piece
        return bytes(data)
