"""The proxy on its unix socket, and connections to it as a build makes them."""

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from selfplay.repository.network.egress import serving as serving_proxy
from selfplay.repository.network.hosts import Address, Allowed
from selfplay.repository.network.proxy import Proxy

NOBODY = (os.getuid(), os.getgid())


@pytest.fixture(autouse=True)
def no_proxy_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@contextmanager
def opened(folder: Path, *named: Address, linked: tuple[Address, ...] = ()) -> Iterator[tuple[Proxy, Path]]:
    place = folder / "egress.sock"
    with serving_proxy(Proxy(Allowed(frozenset(named), frozenset(linked))), place, NOBODY) as served:
        yield served, place
    assert not any(thread.name == "selfplay-egress" for thread in threading.enumerate())


def connected(place: Path) -> socket.socket:
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(20)
    link.connect(str(place))
    return link


def ask(place: Path, data: bytes) -> bytes:
    """Everything that comes back. A refusal reads nothing: sending then fails, or a reset follows its answer."""
    answer = b""
    with connected(place) as link, contextlib.suppress(ConnectionResetError):
        with contextlib.suppress(BrokenPipeError):
            link.sendall(data)
        while piece := link.recv(65536):
            answer += piece
    return answer


def ask_tls(place: Path, port: int, authority: Path, *, host: str = "127.0.0.1", name: str | None = None) -> bytes:
    """The answer to `GET /` through a tunnel to `host`, in which TLS asks for `name`; the head alone if refused."""
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = name is None
    with connected(place) as link:
        link.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode())
        head = link.recv(1000)
        if b" 200 " not in head:
            return head
        with context.wrap_socket(link, server_hostname=name or host) as tls:
            tls.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = b""
            while piece := tls.recv(65536):
                answer += piece
    return answer


def here(port: int) -> Address:
    return Address("127.0.0.1", port)


def client_hello(name: str) -> bytes:
    sent = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name).do_handshake()
    return sent.read()
