"""The proxy on its unix socket, spoken to as a hostile build would: real connections, real listeners."""

import contextlib
import os
import socket
import ssl
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from package_index import own_authority, proxy_with_password, serving

from selfplay.repository.network import proxy as proxy_module
from selfplay.repository.network.egress import serving as serving_proxy
from selfplay.repository.network.hosts import Address, Allowed
from selfplay.repository.network.proxy import MOST_CONNECTIONS, Proxy

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


def client_hello(name: str) -> bytes:
    sent = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name).do_handshake()
    return sent.read()


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


def test_a_head_that_is_too_long_or_too_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_module, "HEAD_SECONDS", 0.3)
    with opened(tmp_path, here(1)) as (_, place):
        long = b"GET http://127.0.0.1:1/ HTTP/1.1\r\n" + b"A: " + b"b" * 20_000 + b"\r\n\r\n"
        assert ask(place, long).startswith(b"HTTP/1.1 431 ")
        assert ask(place, b"X" * 40_000).startswith(b"HTTP/1.1 431 ")
        started = time.monotonic()
        with connected(place) as link:
            dripping = threading.Thread(target=drip, args=(link,), daemon=True)
            dripping.start()
            assert link.recv(1000).startswith(b"HTTP/1.1 408 ")
            dripping.join()
        assert time.monotonic() - started < 5


def drip(link: socket.socket) -> None:
    try:
        for letter in b"GET http://127.0.0.1:1/ HTTP/1.1\r\n" * 3:
            link.sendall(bytes([letter]))
            time.sleep(0.02)
    except OSError:  # it was ended, as it should be
        return


def test_silent_tunnels_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_module, "IDLE_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with opened(tmp_path, here(port)) as (_, place), connected(place) as link:
            link.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
            assert link.recv(1000).startswith(b"HTTP/1.1 200 ")
            link.sendall(client_hello("127.0.0.1"))
            assert link.recv(1000) == b""


def test_connections_are_bounded_and_freed(tmp_path: Path) -> None:
    with serving({"/": b"a page"}) as (port, _), opened(tmp_path, here(port)) as (_, place):
        request = f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n".encode()
        held = [connected(place) for _ in range(MOST_CONNECTIONS)]
        time.sleep(0.2)
        assert ask(place, request).startswith(b"HTTP/1.1 503 ")
        for link in held:
            link.close()
        time.sleep(0.2)
        assert ask(place, request).endswith(b"a page")


def test_leaving_the_context_ends_every_connection(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with opened(tmp_path, here(port)) as (_, place):
            link = connected(place)
            link.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
            assert link.recv(1000).startswith(b"HTTP/1.1 200 ")
        with link:
            assert link.recv(1000) == b""
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208


def test_the_socket_is_its_owners_alone_however_long_its_path(tmp_path: Path) -> None:
    deep = tmp_path / ("long" * 50)
    deep.mkdir()
    place = deep / "egress.sock"
    with serving_proxy(Proxy(Allowed()), place, (64200, 64200) if os.getuid() == 0 else NOBODY):
        found = place.stat()
        assert stat.S_ISSOCK(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600
        assert found.st_uid == (64200 if os.getuid() == 0 else os.getuid())


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
