"""The status of an answer: that of a refusal, and 500 for every other error, whatever fields it has."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest

from selfplay.environments.errors import Busy, EnvironmentRefused, NoTask
from selfplay.environments.server import MOST_BODY, OURS, _Handler, _TokenServer
from selfplay.errors import SelfplayError
from selfplay.local_server import MOST_OPEN


@contextmanager
def answering(handler: type[_Handler]) -> Iterator[int]:
    """The port of a server that answers one request."""
    with _TokenServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield server.server_port
        thread.join()


class OfAnother(SelfplayError):
    """An error of another room, which means something else by the word."""

    status = "damaged"


@pytest.mark.parametrize(
    ("error", "status"),
    [(NoTask("x"), 404), (Busy("x"), 503), (EnvironmentRefused("x"), 400), (OfAnother("x"), OURS)],
)
def test_an_error_has_the_status_of_its_kind(error: SelfplayError, status: int) -> None:
    class Failing(_Handler):
        def answer(self) -> Any:
            raise error

    with answering(Failing) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/tasks")
        answer = connection.getresponse()
        assert (answer.status, type(error).__name__.encode() in answer.read()) == (status, True)
        connection.close()


@pytest.mark.parametrize("length", ["\xb2", "9" * 5000, "-1", "1e3", str(MOST_BODY + 1)])
def test_a_length_that_is_none_is_refused(length: str) -> None:
    with answering(_Handler) as port, socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(f"POST /sessions HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode("latin-1"))
        assert client.makefile("rb").readline().split()[1] == b"400"


def test_a_client_that_hangs_up_leaves_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    class Slow(_Handler):
        def answer(self) -> Any:
            raise ConnectionResetError

    with answering(Slow) as port, socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(b"GET /tasks HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(10) == b""
    assert capfd.readouterr().err == ""


def test_connections_without_the_token_are_few() -> None:
    """Each had a thread of its own, and kept the headers that it had sent; one with the token stays, however long."""
    with _TokenServer(("127.0.0.1", 0), _Handler) as server:
        pairs = [socket.socketpair() for _ in range(MOST_OPEN + 9)]
        waiting = pairs[0][0]
        server.process_request(waiting, ("127.0.0.1", 1))
        server.admitted(waiting)
        for one, _ in pairs[1:]:
            server.process_request(one, ("127.0.0.1", 1))
        for _, there in pairs:
            there.settimeout(0.05)
        ended = [_ended(there) for _, there in pairs]
        assert ended == [False, *[True] * 8, *[False] * MOST_OPEN]
        for _, there in pairs:
            there.close()


def _ended(there: socket.socket) -> bool:
    try:
        return there.recv(1) == b""
    except TimeoutError:
        return False
