"""A server on this machine's loopback whose threads are bounded: any local user may open connections to it."""

import os
import socket as sockets
import sys
import threading
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, socket
from typing import Any

MOST_OPEN, MOST_THREADS, STACK = 32, 64, 1 << 20
"""Connections at once, the threads that serve them or still work for one that ended, and bytes of each one's stack,
since the process's memory may be limited."""
ESTABLISHED, MAPPED = "01", "0000000000000000FFFF0000"
"""In the kernel's tables: the state of a connection, and what stands before an address of IPv4 as one of IPv6."""
WAIT = 5.0
"""Seconds that a connection waits for a thread; others wait behind it."""


class LocalServer(ThreadingHTTPServer):
    """A daemon thread for each connection; of more than `MOST_OPEN` the oldest ends, so that silent ones keep nobody
    out. Those that were `admitted` are not counted. What `MOST_THREADS` others work on comes first."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *rest: Any) -> None:
        self._open: list[socket] = []
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(MOST_THREADS)
        self._placed: set[socket] = set()
        super().__init__(*rest)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.append(request)
            oldest = self._open.pop(0) if len(self._open) > MOST_OPEN else None
        if oldest is not None:
            with suppress(OSError):  # it ended by itself
                oldest.shutdown(SHUT_RDWR)
        if not self._room.acquire(timeout=WAIT):
            self.shutdown_request(request)
            return
        with self._lock:
            self._placed.add(request)
        before = threading.stack_size(STACK)
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread could be started
            self.shutdown_request(request)
        finally:
            threading.stack_size(before)

    def admitted(self, request: socket) -> None:
        """Let this connection stay, however many come after it, and another thread be in its thread's place."""
        with self._lock:
            if request in self._open:
                self._open.remove(request)
            if request in self._placed:
                self._placed.remove(request)
                self._room.release()

    def shutdown_request(self, request: Any) -> None:
        self.admitted(request)
        super().shutdown_request(request)


class OwnServer(LocalServer):
    """One for this user alone, without a token that would say who asks."""

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether the other end is this user's, or root's, who may read everything anyway. What cannot be known is not
        answered, and ends nothing."""
        with suppress(OSError):
            return _owner(client_address, request.getsockname()) in (os.geteuid(), 0)
        return False


def _owner(there: tuple[str, int], here: tuple[str, int]) -> int | None:
    """The user whose socket of this machine has the IPv4 address and port `there`, and is connected to `here`; None if
    there is none."""
    wanted = [_written(there), _written(here)]
    for table, before in (("tcp", ""), ("tcp6", MAPPED)):  # a socket of IPv6 may have an address of IPv4
        kept = Path("/proc/net", table)
        for line in kept.read_text("ascii").splitlines()[1:] if kept.exists() else ():
            fields = line.split()
            if fields[1:3] == [before + one for one in wanted] and fields[3] == ESTABLISHED:
                return int(fields[7])
    return None


def _written(address: tuple[str, int]) -> str:
    """An address and port as the kernel writes them."""
    return f"{int.from_bytes(sockets.inet_aton(address[0]), sys.byteorder):08X}:{address[1]:04X}"
