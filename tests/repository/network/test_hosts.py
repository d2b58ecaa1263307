"""Which hosts a build may reach."""

import socket
from types import SimpleNamespace

import pytest
from package_index import package_index, serving
from pypi_simple import PYPI_SIMPLE_ENDPOINT

from selfplay.repository import SourceError
from selfplay.repository.network.hosts import (
    Address,
    Allowed,
    address_of,
    here,
    host_names,
    parse_host,
    recorded_hosts,
)
from selfplay.repository.network.index_pages import allowed_for
from selfplay.repository.network.indexes import Indexes


@pytest.mark.parametrize(
    ("text", "ports"),
    [("GitHub.com", {80, 443}), ("github.com:22", {22}), ("127.0.0.1:8080", {8080}), ("a_b.c-d", {80, 443})],
)
def test_a_host_with_and_without_a_port(text: str, ports: set[int]) -> None:
    assert set(parse_host(text)) == {Address(text.lower().split(":")[0], port) for port in ports}


def test_an_ipv6_address() -> None:
    assert parse_host("[::1]:99") == (Address("::1", 99),) and str(Address("::1", 99)) == "[::1]:99"


@pytest.mark.parametrize(
    "text", ["", "a b", "*.github.com", "https://github.com", "a:0", "a:65536", "a@b", "a/b", "::1", "[::x]", "a" * 300]
)
def test_what_is_no_host(text: str) -> None:
    with pytest.raises(SourceError, match=r"is not a host that a build may be allowed(.|\n)*Give HOST or HOST:PORT"):
        parse_host(text)


def test_names_are_sorted_once_and_checked() -> None:
    assert host_names(["b", "A:1", "b"]) == ("a:1", "b")


@pytest.mark.parametrize("recorded", ["github.com", [1], {"a": 1}, 5])
def test_a_run_that_records_no_hosts_but_something_else(recorded: object) -> None:
    with pytest.raises(SourceError, match="not a list of hosts"):
        recorded_hosts(recorded, ())


def test_what_a_run_records_allows_nothing() -> None:
    """A shared run would open the loopback of whoever validates it."""
    with pytest.raises(SourceError, match=r"access to 127.0.0.1:6379(.|\n)*--allow-host 127.0.0.1:6379"):
        recorded_hosts(["127.0.0.1:6379"], ["github.com"])
    assert recorded_hosts(["github.com"], ["github.com", "gitlab.com"]) == ("github.com",)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1%eth0", "::ffff:127.0.0.1",
     "localhost", "a.localhost"],
)  # fmt: skip
def test_this_machine_itself(host: str) -> None:
    assert here(host)


def test_an_address_of_its_own_interfaces_is_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever form; of a link layer there are addresses too, which are none of the internet's."""
    given = [(socket.AF_INET, "10.9.8.7"), (socket.AF_INET6, "2001:db8::7%eth0"), (socket.AF_UNIX, "02:42:ac:11:00:02")]
    faces = {"eth0": [SimpleNamespace(family=family, address=address) for family, address in given]}
    monkeypatch.setattr("selfplay.repository.network.hosts.psutil.net_if_addrs", lambda: faces)
    assert all(map(here, ("10.9.8.7", "::ffff:10.9.8.7", "2001:db8::7", "2001:DB8:0::7%eth1")))
    assert not any(map(here, ("10.9.8.8", "2001:db8::8", "02:42:ac:11:00:02")))


def test_other_machines() -> None:
    assert not any(map(here, ("10.0.0.1", "example.org", "2001:db8::1", "localhost.evil.org")))


@pytest.mark.parametrize("url", ["file:///a", "/wheels", "http://a:x/", "http://[::1/", "", "ssh://a/b"])
def test_urls_that_lead_nowhere(url: str) -> None:
    assert address_of(url) is None


def test_an_index_and_the_hosts_of_its_files_are_allowed() -> None:
    """The page that is read is that of the first project, since this index has no pytest."""
    with package_index() as (url, files, _):
        found = allowed_for(Indexes(url), ["example.org:99"], {})
    index = address_of(url)
    assert index and found.named == {index, Address("127.0.0.1", files), Address("example.org", 99)}
    assert not found.linked and not found.unread
    assert Address("127.0.0.1", files + 1) not in found


def test_a_public_index_cannot_lead_builds_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    links = {Address("127.0.0.1", 6379), Address("169.254.169.254", 80), Address("files.example", 443)}
    monkeypatch.setattr("selfplay.repository.network.index_pages._links", lambda *_, **__: links)
    found = allowed_for(Indexes("https://index.example/simple"), (), {})
    assert found.named == {Address("index.example", 443)} and found.linked == {Address("files.example", 443)}


def test_an_index_that_sends_on_to_where_its_files_are() -> None:
    page = b'<a href="/files/a-1.tar.gz">a-1.tar.gz</a>'
    with (
        serving({"/files/a-1.tar.gz": b"a"}) as (store, _),
        serving({"/simple/pytest/": page}, elsewhere=f"http://127.0.0.1:{store}") as (port, _),
    ):
        found = allowed_for(Indexes(f"http://127.0.0.1:{port}/simple"), (), {})
    assert found.named == {Address("127.0.0.1", port), Address("127.0.0.1", store)}


def test_find_links_pages_and_an_index_that_does_not_answer() -> None:
    with serving({"/wheels.html": b'<a href="http://127.0.0.2:81/x-1-py3-none-any.whl">x</a>'}) as (port, _):
        flat, dead = f"http://127.0.0.1:{port}/wheels.html", f"http://user:secret@127.0.0.1:{port}/none"
        found = allowed_for(Indexes(dead, (), (flat, "/a/folder")), (), {})
    assert Address("127.0.0.2", 81) in found and Address("127.0.0.1", port) in found
    (why,) = found.unread
    assert why == f"127.0.0.1:{port}: NoSuchProjectError" or "404" in why
    assert "secret" not in why


def test_no_index_configured_means_the_tools_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is a library's constant."""
    monkeypatch.setattr("selfplay.repository.network.index_pages._links", lambda *_, **__: ())
    assert allowed_for(Indexes(), (), {}).named == {address_of(PYPI_SIMPLE_ENDPOINT)}


def test_nothing_is_allowed_without_being_named() -> None:
    assert str(Allowed()) == "no host" and Address("a", 1) not in Allowed()
