"""Threads of a local server: bounded, but for connections that it admits."""

import socket
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler

from selfplay.local_server import MOST_THREADS, LocalServer


def test_admitted_connections_take_no_room_from_others() -> None:
    """A trainer may have more sessions open than strangers may have threads."""
    inside, leave = threading.Semaphore(0), threading.Event()

    class Waiting(BaseHTTPRequestHandler):
        def handle(self) -> None:
            self.server.admitted(self.request)  # type: ignore[attr-defined]
            inside.release()
            leave.wait(60)

    server = LocalServer(("127.0.0.1", 0), Waiting)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with ExitStack() as stack:
            for _ in range(MOST_THREADS + 16):
                stack.enter_context(socket.create_connection(server.server_address[:2], timeout=60))
            assert all(inside.acquire(timeout=30) for _ in range(MOST_THREADS + 16))
            leave.set()
    finally:
        leave.set()
        server.shutdown()
        thread.join()
        server.server_close()
