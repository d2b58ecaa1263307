"""Where requests to a package index may lead: to the index, and to hosts that it names; never nearer than it is."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import requests
from package_index import serving

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching import pypi
from selfplay.repository.fetching.gitdir import GitDir
from selfplay.repository.fetching.source import PypiSource
from selfplay.repository.network.index_pages import allowed_for
from selfplay.repository.network.index_session import HERE, PRIVATE, PUBLIC, IndexSession, SentElsewhere, distance
from selfplay.repository.network.indexes import Indexes

NAME = "demo-1.0.tar.gz"
Served = tuple[int, list[str]]
Serve = Callable[..., Served]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:
        yield lambda pages, elsewhere="": stack.enter_context(serving(pages, elsewhere=elsewhere))


def page(port: int) -> bytes:
    """A project's page whose one file lies on that port of the loopback."""
    return f'<a href="http://127.0.0.1:{port}/{NAME}#sha256={"0" * 64}">{NAME}</a>'.encode()


def downloaded(index: int, folder: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a download from the index on that port says: its archive never has the SHA-256 of its page."""
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{index}/simple")
    with pytest.raises(SourceError) as error:
        pypi.download(PypiSource("demo"), GitDir(folder), downloads=folder, releases=0, progress=lambda line: None)
    return str(error.value)


def test_a_file_is_not_fetched_where_its_host_sends_on_to(
    serve: Serve, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service of this machine that nobody named; the host of the files, which the page names, sends there."""
    service, asked = serve({f"/{NAME}": b"secret"})
    files, _ = serve({}, f"http://127.0.0.1:{service}")
    index, _ = serve({"/simple/demo/": page(files)})
    said = downloaded(index, tmp_path, monkeypatch)
    assert f"127.0.0.1:{service} is not a host that the index names" in said and asked == []


def test_a_file_is_fetched_where_the_index_sends_on_to(
    serve: Serve, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As registries do whose files lie in a store of objects: their word is as good as a link of theirs."""
    store, asked = serve({f"/{NAME}": b"x"})
    index, pages = serve(held := {}, f"http://127.0.0.1:{store}")
    held["/simple/demo/"] = page(index)
    assert "digest" in downloaded(index, tmp_path, monkeypatch)
    assert pages == ["/simple/demo/", f"/{NAME}"] and asked == [f"/{NAME}"]


def test_hosts_that_a_page_names_may_send_on_to_each_other(serve: Serve) -> None:
    third, asked = serve({"/a": b"x"})
    second, _ = serve({}, f"http://127.0.0.1:{third}")
    session = IndexSession("http://127.0.0.1:9/simple")
    session.allow([f"http://127.0.0.1:{second}/"])
    with pytest.raises(SentElsewhere, match=f"127.0.0.1:{third}"):
        session.get(f"http://127.0.0.1:{second}/a", timeout=20)
    assert asked == []
    session.allow([f"http://127.0.0.1:{third}/"])
    assert session.get(f"http://127.0.0.1:{second}/a", timeout=20).content == b"x"


@pytest.mark.parametrize(("own", "there", "goes"), [(PUBLIC, HERE, 0), (PRIVATE, HERE, 0), (PRIVATE, PRIVATE, 1)])
def test_an_index_leads_no_nearer_than_it_is(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, own: int, there: int, goes: int
) -> None:
    """Its page names a service, and it redirects there as well."""
    service, asked = serve({"/a": b"x"})
    index, _ = serve({}, f"http://localhost:{service}")
    near = {"127.0.0.1": own, "localhost": there}
    monkeypatch.setattr("selfplay.repository.network.index_session.distance", lambda host, **_: near[host])
    monkeypatch.setattr("selfplay.repository.network.index_session._of_address", lambda peer: own)
    session = IndexSession(f"http://127.0.0.1:{index}/simple")
    session.allow([f"http://localhost:{service}/a"])
    for url in (f"http://127.0.0.1:{index}/a", f"http://localhost:{service}/a"):
        if goes:
            assert session.get(url, timeout=20).content == b"x"
            continue
        with pytest.raises(SentElsewhere, match=f"localhost:{service} is nearer to this machine than the index"):
            session.get(url, timeout=20)
    assert asked == ["/a"] * 2 * goes


def test_a_name_that_means_another_address_a_moment_later_is_not_asked(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hostile name server answers the look with a public address, and the request with this machine."""
    service, asked = serve({"/a": b"x"})
    monkeypatch.setattr("selfplay.repository.network.index_session.distance", lambda host, **_: PUBLIC)
    session = IndexSession("https://index.example/simple")
    session.allow([f"http://localhost:{service}/a"])
    with pytest.raises(SentElsewhere, match=r"127\.0\.0\.1, which is nearer to this machine than the index"):
        session.get(f"http://localhost:{service}/a", timeout=20)
    with pytest.raises(SentElsewhere, match="something that is not a web address"):
        session.get(f"http://localhost.:{service}/a", timeout=20)
    assert asked == []


def test_a_page_read_for_a_build_follows_no_other_host(serve: Serve) -> None:
    service, asked = serve({f"/{NAME}": b"x"})
    files, _ = serve({}, f"http://127.0.0.1:{service}")
    index, _ = serve({"/simple/pytest/": page(files).replace(b"demo", b"pytest")})
    found = allowed_for(Indexes(f"http://127.0.0.1:{index}/simple"), (), {})
    assert {address.port for address in found.named} == {index, files} and asked == []


@pytest.mark.parametrize(
    ("host", "near"),
    [("127.0.0.1", HERE), ("::1", HERE), ("169.254.169.254", HERE), ("10.0.0.1", PRIVATE), ("192.168.7.7", PRIVATE),
     ("fd00::1", PRIVATE), ("9.9.9.9", PUBLIC), ("2620:fe::fe", PUBLIC)],
)  # fmt: skip
def test_how_near_an_address_is(host: str, near: int) -> None:
    assert distance(host) == near


def test_a_name_is_as_near_as_its_nearest_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked_up(host: str, *_: object, **__: object) -> list[Any]:
        if host == "nowhere.example":
            raise socket.gaierror
        return [(0, 0, 0, "", ("9.9.9.9", 0)), (0, 0, 0, "", ("10.0.0.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    assert distance("files.example") == PRIVATE and distance("nowhere.example") == PUBLIC
    assert distance("files.example", look_up=False) == PUBLIC and distance("localhost", look_up=False) == HERE


@pytest.mark.parametrize(
    ("index", "place", "same"),
    [("http://a/", "https://a/x", True), ("https://a/", "http://a/x", False), ("http://a:80/", "http://a:81/", False)],
)  # fmt: skip
def test_the_same_host_at_another_port(index: str, place: str, same: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """From http to https it may be sent on; anything else is another service."""
    monkeypatch.setattr("requests.Session.send", lambda *_, **__: "sent")
    monkeypatch.setattr("selfplay.repository.network.index_session.distance", lambda host, **_: PUBLIC)
    session = IndexSession(index)
    request = requests.Request("GET", place).prepare()
    if same:
        assert session.send(request) == "sent"
    else:
        with pytest.raises(SentElsewhere, match="not a host that the index names"):
            session.send(request)
