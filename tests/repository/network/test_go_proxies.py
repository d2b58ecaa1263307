"""What a build is told of the user's proxies for Go's modules, by the machine's real `go`."""

from pathlib import Path

import pytest

from selfplay import subprocesses
from selfplay.repository import SourceError
from selfplay.repository.network.credentials import Secret
from selfplay.repository.network.go_proxies import go_proxies
from selfplay.repository.network.hosts import Address, address_of


@pytest.fixture(params=["go", ""], ids=["with go", "without go"], autouse=True)
def told_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(subprocesses, "find", lambda program: None)
    monkeypatch.setenv("GOSUMDB", "off")


def test_credentials_stay_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Basic `me:p@ss`, by RFC 7617: base64 of it."""
    monkeypatch.setenv("GOPROXY", "https://me:p%40ss@go.example/mod|http://b.example:81,direct")
    found = go_proxies()
    assert found.env["GOPROXY"] == "http://go.example:443/mod|http://b.example:81,direct"
    assert found.urls == ("http://go.example:443/mod", "http://b.example:81")
    assert found.secrets == {Address("go.example", 443): Secret("Basic bWU6cEBzcw==", tls=True)}


@pytest.mark.parametrize("entry", ["https://me:p@go.example:99999/mod", "https://me:p@[::1/mod"])
def test_a_malformed_url_is_not_repeated(monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    monkeypatch.setenv("GOPROXY", f"https://a.example,{entry}")
    with pytest.raises(SourceError) as caught:
        go_proxies()
    assert caught.value.message == "GOPROXY holds what is no URL"


def test_an_entry_without_a_scheme_is_https_as_for_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "me:p%40ss@go.example/mod,direct")
    found = go_proxies()
    assert found.env["GOPROXY"] == "http://go.example:443/mod,direct" and "p%40ss" not in str(found.env)
    assert found.secrets == {Address("go.example", 443): Secret("Basic bWU6cEBzcw==", tls=True)}


def test_credentials_of_the_base_of_sums_stay_outside_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    monkeypatch.setenv("GOSUMDB", "sums.example https://me:p%40ss@mirror.example/x")
    found = go_proxies()
    assert found.env["GOSUMDB"] == "sums.example http://mirror.example:443/x"
    assert found.secrets == {Address("mirror.example", 443): Secret("Basic bWU6cEBzcw==", tls=True)}
    monkeypatch.setenv("GOSUMDB", "me:p%40ss@sums.example+key")
    with pytest.raises(SourceError, match=r"^GOSUMDB names no base of sums"):
        go_proxies()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_a_proxy_on_this_machine_has_a_name_that_go_asks_a_proxy_for(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """Go connects to `localhost` and loopback addresses itself, which lead nowhere in a sandbox."""
    monkeypatch.setenv("GOPROXY", f"http://{host}:3000/mod,off")
    found = go_proxies()
    assert found.env["GOPROXY"] == "http://localhost.:3000/mod,off"
    assert address_of(found.urls[0]) == Address("localhost", 3000)


def test_two_users_of_one_host_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "https://a:one@go.example/a,https://b:two@go.example/b")
    with pytest.raises(SourceError) as caught:
        go_proxies()
    assert caught.value.message == "GOPROXY names two users of go.example:443"


def test_a_folder_is_shown_to_the_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOPROXY", f"{tmp_path.as_uri()},off")
    found = go_proxies()
    assert [mount.source for mount in found.folders] == [tmp_path] and found.urls == ()
    assert found.env["GOPROXY"] == f"{tmp_path.as_uri()},off"


@pytest.mark.parametrize(
    ("sums", "urls"),
    [
        ("off", ()),
        ("sums.example", ("https://sums.example",)),
        ("sums.example+8cd8a42c+AfTs", ("https://sums.example",)),
        ("sums.example https://mirror.example", ("https://sums.example", "https://mirror.example")),
    ],
)
def test_who_knows_the_sums_may_be_asked(monkeypatch: pytest.MonkeyPatch, sums: str, urls: tuple[str, ...]) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    monkeypatch.setenv("GOSUMDB", sums)
    assert go_proxies().urls == urls
