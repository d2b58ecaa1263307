"""A client of a server that is none of ours: the address may be a shared run's."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from selfplay.environments.client import ADDRESS_FILE, Client, NotServed
from selfplay.errors import SelfplayError

Strange = Callable[[bytes], int]


@pytest.fixture
def strange() -> Iterator[Strange]:
    """Starts a server that answers each connection with these bytes."""
    with ExitStack() as stack:

        def start(answer: bytes) -> int:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            threading.Thread(target=_serve, args=(server, answer), daemon=True).start()
            return int(server.getsockname()[1])

        yield start


def _serve(server: socket.socket, answer: bytes) -> None:
    with suppress(OSError):  # closed at the end of the test
        while True:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)


@pytest.mark.parametrize(
    "text",
    ["[" * 4000, "[]", '"port"', "{}", '{"port": "x", "token": 1}', '{"port": Infinity, "token": "x"}', "\0", ""],
)
def test_an_address_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / ADDRESS_FILE).write_text(text)
    with pytest.raises(NotServed, match="cannot be read"):
        Client.of(tmp_path)


OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"


@pytest.mark.parametrize(
    "answer",
    [
        b"\0\0\r\n\r\n", b"HTTP/1.1 999\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 500 + b"\r\n", b"",
        OK % (40_000, b"[" * 40_000), OK % (5, b"nope!"), b"HTTP/1.1 500 no\r\nContent-Length: 9\r\n\r\n" + b"[" * 9,
        b'HTTP/1.1 400 no\r\nContent-Length: 37\r\n\r\n{"error": [], "message": 1, "hint": 2}',
    ],
)  # fmt: skip
def test_a_strange_server_is_a_typed_error(answer: bytes, strange: Strange) -> None:
    with pytest.raises(SelfplayError):
        Client(strange(answer), "secret").tasks("solver")


def test_the_token_is_sent_nowhere_else(strange: Strange) -> None:
    seen = list[bytes]()
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(0.5)
        port = other.getsockname()[1]
        answer = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{port}/\r\nContent-Length: 0\r\n\r\n".encode()
        with pytest.raises(SelfplayError):
            Client(strange(answer), "secret", seconds=5).tasks("solver")
        with suppress(TimeoutError):
            seen.append(other.accept()[0].recv(65536))
    assert not seen


@pytest.mark.parametrize("said", [b"[]", b"{}", b'{"messages": 1, "result": 2}', b'{"messages": [], "result": null}'])
def test_an_episode_of_another_shape_is_a_typed_error(said: bytes, strange: Strange) -> None:
    with pytest.raises(NotServed, match="the server answers"):
        Client(strange(OK % (len(said), said)), "secret").begin("solver", "x")
