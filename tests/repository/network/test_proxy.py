"""The proxy on its unix socket carries what it may: to the allowed hosts, and through the user's own proxy."""

import os
import socket
import time
from pathlib import Path

import pytest
from package_index import own_authority, proxy_with_password, serving
from repository.network.proxied import ask, ask_tls, client_hello, connected, here, no_proxy_of_the_user, opened

from selfplay.repository.network import proxy as proxy_module
from selfplay.repository.network.hosts import Address

__all__ = ["no_proxy_of_the_user"]


def test_a_plain_request_to_an_allowed_host(tmp_path: Path) -> None:
    with serving({"/simple/": b"a page"}) as (port, asked), opened(tmp_path, here(port)) as (_, place):
        answer = ask(place, f"GET http://127.0.0.1:{port}/simple/ HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.0 200 OK\r\n") and answer.endswith(b"a page") and asked == ["/simple/"]


def test_a_tunnel_carries_both_ways_and_a_large_answer(tmp_path: Path) -> None:
    tls, authority = own_authority(tmp_path)
    large = os.urandom(3_000_000)
    with serving({"/": large}, tls) as (port, _), opened(tmp_path, here(port)) as (_, place):
        answer = ask_tls(place, port, authority)
    assert answer.startswith(b"HTTP/1.0 200 OK") and answer.endswith(large)


def test_a_tunnel_carries_tls_for_its_own_host_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else any site of the same content network could be reached by naming the index to us and the site to it."""
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *words, **kinds: real("127.0.0.1", *words, **kinds))
    tls, authority = own_authority(tmp_path)
    with serving({"/": b"a page"}, tls) as (port, asked):
        index = Address("index.example", port)
        with opened(tmp_path, index) as (served, place):
            assert ask_tls(place, port, authority, host=index.host, name="INDEX.example").endswith(b"a page")
            with pytest.raises(OSError):
                ask_tls(place, port, authority, host=index.host, name="evil.example")
            hello = f"CONNECT index.example:{port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"
            assert ask(place, hello.encode()) == b"HTTP/1.1 200 Connection established\r\n\r\n"
            assert list(served.refused) == [Address("evil.example", port), index] and asked == ["/"]
            assert "may only carry TLS" in served.refused[index]


def test_the_first_message_of_tls_is_read_in_pieces_and_never_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hello = client_hello("127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with opened(tmp_path, here(port)) as (_, place):
            with connected(place) as link:
                link.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
                for start in range(0, len(hello), 100):
                    link.sendall(hello[start : start + 100])
                    time.sleep(0.01)
                far, _ = listener.accept()
                assert far.recv(len(hello), socket.MSG_WAITALL) == hello, "sent on as it came"
            monkeypatch.setattr(proxy_module, "HEAD_SECONDS", 0.3)
            with connected(place) as link:
                link.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode() + hello[:200])
                assert link.recv(1000).startswith(b"HTTP/1.1 200 ") and link.recv(1000) == b""


def test_the_users_own_proxy_is_used_with_its_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        serving({"/": b"a page"}) as (port, _),
        serving({"/": b"a page"}, own_authority(tmp_path)[0]) as (secure, _),
        proxy_with_password("someone", "hunter 2") as (theirs, heads),
        opened(tmp_path, here(port), here(secure)) as (served, place),
    ):
        authority = tmp_path / "ca.pem"
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://someone:hunter%202@127.0.0.1:{theirs}")
        plain = f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\nProxy-Authorization: Basic mine\r\n\r\n".encode()
        assert ask_tls(place, secure, authority).endswith(b"a page") and ask(place, plain).endswith(b"a page")
        assert [head.split()[0] for head in heads] == [b"CONNECT", b"GET"] and b"mine" not in heads[1]
        assert b" 403 " in ask(place, b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n") and len(heads) == 2
        monkeypatch.setenv("HTTPS_PROXY", f"http://someone:wrong@127.0.0.1:{theirs}")
        answer = ask(place, f"CONNECT 127.0.0.1:{secure} HTTP/1.1\r\n\r\n".encode())
        assert b" 502 " in answer and b"answered 407" in answer and b"wrong" not in answer
        assert "wrong" not in str(served.failed)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        asked = len(heads)
        assert ask_tls(place, secure, authority).endswith(b"a page") and len(heads) == asked


def test_a_kind_of_proxy_that_cannot_be_used_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://user:secret@127.0.0.1:1080")
    with opened(tmp_path, here(9)) as (served, place):
        answer = ask(place, b"CONNECT 127.0.0.1:9 HTTP/1.1\r\n\r\n")
        assert b"cannot use a socks5 proxy" in answer and b"secret" not in answer
        assert here(9) in served.failed
