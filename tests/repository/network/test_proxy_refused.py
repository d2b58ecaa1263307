"""What the proxy refuses of a hostile build, and remembers: other ports, names and links."""

import socket
from pathlib import Path

import pytest
from package_index import serving
from repository.network.proxied import ask, connected, here, no_proxy_of_the_user, opened

from selfplay.repository.network import proxy as proxy_module
from selfplay.repository.network.hosts import Address

__all__ = ["no_proxy_of_the_user"]


def test_another_port_of_an_allowed_host_is_refused_and_remembered(tmp_path: Path) -> None:
    with serving({"/": b"secret"}) as (port, asked), opened(tmp_path, here(port + 1)) as (served, place):
        for request in (f"GET http://127.0.0.1:{port}/", f"CONNECT 127.0.0.1:{port}"):
            answer = ask(place, f"{request} HTTP/1.1\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n") and b"secret" not in answer
            assert f"this build may not reach 127.0.0.1:{port}: it is not a package index\n".encode() in answer
        assert list(served.refused) == [here(port)] and asked == []


def test_names_that_are_not_allowed_are_not_even_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[object] = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *words, **_: looked_up.append(words[0]))
    with opened(tmp_path) as (served, place):
        assert b" 403 " in ask(place, b"CONNECT secret.exfiltrated.example:443 HTTP/1.1\r\n\r\n")
        for number in range(60):
            ask(place, f"CONNECT {number}.example:443 HTTP/1.1\r\n\r\n".encode())
        assert looked_up == [] and len(served.refused) == proxy_module.MOST_KEPT


def test_a_link_of_an_index_that_leads_to_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name on an index's page may resolve to anything."""
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *words, **kinds: real("127.0.0.1", *words, **kinds))
    with serving({"/": b"secret"}) as (port, asked):
        rebound = Address("files.example", port)
        with opened(tmp_path, linked=(rebound,)) as (served, place):
            answer = ask(place, f"GET http://files.example:{port}/ HTTP/1.1\r\n\r\n".encode())
            assert b" 403 " in answer and b"leads to this machine itself" in answer
            assert rebound in served.refused and asked == []
        with opened(tmp_path / "..", rebound) as (_, place):
            assert ask(place, f"GET http://files.example:{port}/ HTTP/1.1\r\n\r\n".encode()).endswith(b"secret")


def test_an_allowed_host_that_does_not_answer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with opened(tmp_path, here(port)) as (served, place):
        answer = ask(place, f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
        assert b" 502 " in answer and b"cannot be reached" in answer
        assert list(served.failed) == [here(port)] and not served.refused


def test_a_second_request_in_the_same_bytes_is_not_sent_on(tmp_path: Path) -> None:
    """The first has a body of five bytes: what follows is no part of it, and would reach the user's own proxy."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with opened(tmp_path, here(port)) as (_, place), connected(place) as link:
            first = f"POST http://127.0.0.1:{port}/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
            link.sendall(first.encode() + b"GET http://127.0.0.1:1/second HTTP/1.1\r\n\r\n")
            far, _ = listener.accept()
            far.settimeout(0.5)
            got = b""
            with pytest.raises(TimeoutError):
                while True:
                    got += far.recv(65536)
            assert got.endswith(b"Connection: close\r\n\r\nhello") and b"second" not in got
