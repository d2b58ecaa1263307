"""A server on this machine's loopback whose threads are bounded: any local user may open connections to it."""

import threading
from contextlib import suppress
from http.server import ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from typing import Any

MOST_OPEN, MOST_THREADS, STACK = 32, 64, 1 << 20
"""Connections at once, the threads that serve them or still work for one that ended, and bytes of each one's stack,
since the process's memory may be limited."""
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
