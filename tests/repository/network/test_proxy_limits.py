"""What the proxy bounds: slow and silent connections, their number, and who may use its socket."""

import os
import socket
import stat
import threading
import time
from pathlib import Path

import pytest
from package_index import serving
from repository.network.proxied import NOBODY, ask, client_hello, connected, here, no_proxy_of_the_user, opened

from selfplay.repository.network import proxy as proxy_module
from selfplay.repository.network.egress import serving as serving_proxy
from selfplay.repository.network.hosts import Allowed
from selfplay.repository.network.proxy import MOST_CONNECTIONS, Proxy

__all__ = ["no_proxy_of_the_user"]


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
