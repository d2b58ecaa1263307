"""Which submodules the host fetches, from where and as whom: real servers on the loopback, git's own credentials."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from package_index import own_authority
from repository_fixtures import Taken, git, ssh_here, write

from selfplay.repository.fetching import fetch, nobody, submodules
from selfplay.repository.fetching.gitdir import GitDir
from selfplay.repository.fetching.history import beside
from selfplay.repository.fetching.remotes import remote_of
from selfplay.repository.fetching.submodules import receive_submodule
from selfplay.repository.network.hosts import is_public

Make = Callable[..., Path]
Take = Callable[..., Taken]
OID = "1" * 40
SOURCE = "https://named.example/a/b"


@contextmanager
def listening(
    tls: ssl.SSLContext | None = None, elsewhere: str = "", realm: str = "Basic realm=x"
) -> Iterator[tuple[int, list[str]]]:
    """(port, who asked) of a server that wants a password, or that sends on to `elsewhere`."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(str(self.headers.get("Authorization")))
            self.send_response(302 if elsewhere else 401)
            self.send_header("Location", elsewhere) if elsewhere else self.send_header("WWW-Authenticate", realm)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, asked
        server.shutdown()


@pytest.fixture
def store(tmp_path: Path) -> GitDir:
    return GitDir.create(tmp_path / "store")


@pytest.fixture
def credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user with a password in every place where git and curl look for one."""
    home = tmp_path / "home"
    write(home, {".netrc": "default login me password pw\n", "creds": ""})
    helper = "!f() { echo username=me; echo password=pw; }; f"
    write(home, {".gitconfig": f'[credential]\n\thelper = "{helper}"\n[http]\n\textraHeader = "Authorization: me"\n'})
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'http.extraHeader'='Authorization: parameters'")
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def outer_with(outer: Path, named: dict[str, tuple[str, str]]) -> Path:
    """A repository with these submodules: path -> (URL, commit)."""
    write(
        outer,
        {".gitmodules": "".join(f'[submodule "{p}"]\n\tpath = {p}\n\turl = {u}\n' for p, (u, _) in named.items())},
    )
    for path, (_, oid) in named.items():
        git(outer, "update-index", "--add", "--cacheinfo", f"160000,{oid},{path}")
    git(outer, "add", ".gitmodules")
    git(outer, "commit", "--quiet", "--message", "submodules")
    return outer


@pytest.mark.slow
def test_submodules_come_from_the_sources_own_host(
    repository: Make, taken: Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is named by a relative URL, one by a whole one, one is gone, and the ssh of two others leads elsewhere."""
    ssh_here(tmp_path, monkeypatch)
    inner = repository({"lib.py": "x = 1\n"}, name="inner")
    head = git(inner, "rev-parse", "HEAD")
    gone = f"ssh://host{tmp_path}/gone"
    named = {"one": ("../inner", head), "two": (f"ssh://host{inner}", head), "gone": (gone, OID)}
    private = repository({"lib.py": "secret\n"}, name="private")
    secret = git(private, "rev-parse", "HEAD")
    named |= {"other": (f"ssh://alias{private}", secret), "user": (f"root@host:{private}", secret)}
    found = taken(f"ssh://host{outer_with(repository({'a.py': ''}, name='outer'), named)}").found
    assert {path for path in found.tracked if path.endswith(".py")} == {"a.py", "one/lib.py", "two/lib.py"}
    notes = "\n".join(found.notes)
    assert len(found.notes) == 3 and f"{gone} cannot be fetched" in notes
    assert notes.count("is not fetched: for a host or owner other than the source's, only https") == 2
    assert notes.count("name a local checkout of the source that holds it (`git submodule update --init`") == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most", "said"),
    [("SUBMODULES_BYTES", 100, "0 GiB together"), ("SUBMODULES_SECONDS", -1.0, "min together")],
)
def test_the_submodules_of_a_source_share_its_bounds(
    repository: Make, taken: Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: float, said: str
) -> None:
    """A file of 20 kB could name two hundred, each with a bound of its own of 2 GiB and ten minutes."""
    ssh_here(tmp_path, monkeypatch)
    monkeypatch.setattr(fetch, name, most)
    inner = repository({"lib.py": "x = 1\n"}, name="inner")
    named = {"one": ("../inner", git(inner, "rev-parse", "HEAD"))}
    found = taken(f"ssh://host{outer_with(repository({'a.py': ''}, name='outer'), named)}").found
    assert [path for path in found.tracked if path.endswith(".py")] == ["a.py"] and said in "\n".join(found.notes)


@pytest.mark.slow
def test_a_local_source_asks_no_host(repository: Make, taken: Take, credentials: None) -> None:
    with listening() as (port, asked):
        outer = outer_with(repository({"a.py": ""}), {"x": (f"http://127.0.0.1:{port}/x", OID)})
        notes = [taken(source).found.notes for source in (outer, outer.as_uri())]
        assert asked == []
    assert notes[0] == notes[1] and "is not fetched for a folder of this machine: name a local checkout" in notes[0][0]


def test_no_host_of_this_machine_or_its_network_is_asked(store: GitDir, credentials: None) -> None:
    with listening() as (port, asked), socket.create_server(("127.0.0.1", 0)) as raw:
        raw.settimeout(0.1)
        for host in ("127.0.0.1", "localhost", "127.1", "2130706433", "[::ffff:127.0.0.1]", "0.0.0.0"):
            assert "is not a public host" in receive_submodule(store, f"https://{host}:{port}/x", OID, SOURCE)
            assert "only https without a user" in receive_submodule(store, f"http://{host}:{port}/x", OID, SOURCE)
        assert "only https" in receive_submodule(store, f"ssh://127.0.0.1:{raw.getsockname()[1]}/x", OID, SOURCE)
        assert "only https" in receive_submodule(store, f"https://me:pw@127.0.0.1:{port}/x", OID, SOURCE)
        with pytest.raises(TimeoutError):
            raw.accept()
        assert asked == []


@pytest.mark.slow
def test_another_public_host_is_asked_as_nobody(
    store: GitDir, credentials: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same server with the user's credentials, where it is the source's own."""
    tls, authority = own_authority(tmp_path)
    monkeypatch.setenv("GIT_SSL_CAINFO", str(authority))
    monkeypatch.setattr(nobody, "is_public", lambda address: True)
    with listening(tls) as (port, asked):
        url = f"https://127.0.0.1:{port}/me/x"
        for stranger in (SOURCE, f"https://127.0.0.1:{port}/stranger/source", f"https://127.0.0.1:{port}/source"):
            assert receive_submodule(store, url, OID, stranger).startswith("cannot be fetched")
            assert asked and set(asked) == {"None"}
            asked.clear()
        receive_submodule(store, url, OID, f"https://127.0.0.1:{port}/me/source")
        assert set(asked) != {"None"}


@pytest.mark.slow
def test_no_redirection_is_followed(
    store: GitDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, credentials: None
) -> None:
    tls, authority = own_authority(tmp_path)
    monkeypatch.setenv("GIT_SSL_CAINFO", str(authority))
    monkeypatch.setattr(nobody, "is_public", lambda address: True)
    with listening() as (inner, reached), listening(tls, f"http://127.0.0.1:{inner}/info/refs") as (port, asked):
        for source in (SOURCE, f"https://127.0.0.1:{port}/source"):
            assert "cannot be fetched" in receive_submodule(store, f"https://127.0.0.1:{port}/x", OID, source)
        assert len(asked) == 2 and reached == []


def test_the_addresses_looked_at_are_those_used(store: GitDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that means another address a moment later leads nowhere else."""
    given: list[dict[str, object]] = []
    monkeypatch.setattr(submodules, "fetch_exact", lambda *_, **kinds: given.append(kinds))
    found = [(socket.AF_INET, 1, 6, "", (address, 443)) for address in ("8.8.8.8", "2606:4700::1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert receive_submodule(store, "https://other.example/x", OID, SOURCE) == ""
    assert given[0]["access"].settings["http.curloptResolve"] == "other.example:443:8.8.8.8,[2606:4700::1]"
    assert given[0]["access"].user_config is False and given[0]["access"].env["GIT_ALLOW_PROTOCOL"] == "https"
    found.append((socket.AF_INET, 1, 6, "", ("10.0.0.1", 443)))
    assert "is not a public host" in receive_submodule(store, "https://other.example/x", OID, SOURCE)


@pytest.mark.parametrize("address", [
    "127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "240.0.0.1", "0.0.0.0", "::1",
    "::", "fe80::1%eth0", "fe80::1", "fc00::1", "fec0::1", "ff02::1", "::ffff:10.0.0.1", "2002:7f00:1::",
    "64:ff9b::7f00:1", "2001::1", "2001:db8::1", "name",
])  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


def test_addresses_that_are_public() -> None:
    assert is_public("8.8.8.8") and is_public("2606:4700:4700::1111") and is_public("::ffff:8.8.8.8")


@pytest.mark.parametrize("one, other, same", [
    ("https://Host/o/a", "https://host:443/o/b", True), ("https://host/o/a", "http://host/o/b", False),
    ("https://t:k@host/o/a", "https://host/o/b", True), ("https://host/o/a", "https://t:k@host/o/b", False),
    ("https://host/o/a", "https://host:8443/o/b", False), ("git@host:o/a", "ssh://git@host/o/b", True),
    ("git@host:o/a", "ssh://root@host/o/b", False), ("git@host:o/a", "https://host/o/b", False),
    ("https://host/o/a", "https://host.evil/o/b", False), ("https://host/o/a", "https://host/other/b", False),
    ("https://host/a", "https://host/b", False), ("https://host/o/a", "https://host/o/../other/b", False),
    ("git@host:/home/o/a", "git@host:/home/other/b", False), ("git@host:/home/o/a", "git@host:/home/o/b", True),
    ("ssh://host/home/o/a", "ssh://host/home/other/b", False), ("ssh://host/home/o/a", "ssh://host/home/o/b", True),
    ("ssh://host/home/o/a", "host:/home/o/b", True), ("ssh://host/home/o/a", "ssh://host/home/o/deep/b", False),
    ("git@host:/home/o/a", "git@host:home/o/b", False), ("ssh://git@host/o/a", "git@host:o/b", True),
    ("ssh://me@host/o/a", "me@host:o/b", False), ("ssh://git@host/srv/o/a", "ssh://git@host/srv/other/b", False),
    ("git@gitlab.com:o/group/a", "git@gitlab.com:o/b", True), ("git@host:o/group/a", "git@host:o/b", False),
    ("https://host/scm/~evil/a", "https://host/scm/SECRET/b", False), ("git@host:/o/a", "git@host:/o/b", True),
    ("ssh://host/~o/a", "ssh://host/~other/a", False),
    ("https://host/o/a", "https://host/%6f/b", False),
    ("https://gitlab.com/o/a", "https://gitlab.com//o/group/b", True),
])  # fmt: skip
def test_what_is_the_same_host_and_owner(one: str, other: str, same: bool) -> None:
    named = remote_of(other)
    assert named is not None and named.is_at(remote_of(one)) is same


def test_relative_urls_of_submodules() -> None:
    assert beside("https://host/a/b.git/", "../c.git") == "https://host/a/c.git"
    assert beside("ssh://host/a/b", "../../c") == "ssh://host/c" and beside("ssh://host/a", "./c") == "ssh://host/a/c"


@pytest.mark.parametrize(
    "url",
    ["file:///etc", "/etc", "../up", "ext::sh -c x", "--upload-pack=x", "-oProxyCommand=x:y", "ssh://-oProxyCommand=x/y",
     "git://host/x", "https:///x", "fd::3", "a" * 5000 + ":x", "https://host\\@evil/x", "https://ho%73t/x",
     "https://host/x\ny", "https://host:99999/x", "https://host./x", "https://host.:8443/x", "ssh://-l@host/x"],
)  # fmt: skip
def test_a_submodule_is_fetched_from_a_remote_or_not_at_all(url: str, store: GitDir) -> None:
    assert receive_submodule(store, url, "0" * 40, SOURCE) == "is not the URL of a remote repository"
