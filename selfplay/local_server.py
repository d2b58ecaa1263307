"""A server on this machine's loopback whose threads are bounded: any local user may open connections to it."""

import threading
from contextlib import suppress
from http.server import ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from typing import Any

MOST_OPEN, STACK = 32, 1 << 20
"""Connections at once, and bytes of each one's stack, since the process's memory may be limited."""


class LocalServer(ThreadingHTTPServer):
    """A daemon thread for each connection; of more than `MOST_OPEN` the oldest ends, so that silent ones keep nobody
    out. Those that were `admitted` are not counted."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *rest: Any) -> None:
        self._open: list[socket] = []
        self._lock = threading.Lock()
        super().__init__(*rest)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.append(request)
            oldest = self._open.pop(0) if len(self._open) > MOST_OPEN else None
        if oldest is not None:
            with suppress(OSError):  # it ended by itself
                oldest.shutdown(SHUT_RDWR)
        before = threading.stack_size(STACK)
        try:
            super().process_request(request, client_address)
        finally:
            threading.stack_size(before)

    def admitted(self, request: socket) -> None:
        """Let this connection stay, however many come after it."""
        with self._lock, suppress(ValueError):
            self._open.remove(request)

    def shutdown_request(self, request: Any) -> None:
        self.admitted(request)
        super().shutdown_request(request)
