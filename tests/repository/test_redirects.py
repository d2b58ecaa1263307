"""Where a server sends a fetch on to: within the host that the user named, and nowhere else, with no credentials."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from repository_fixtures import git, write

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.gitdir import GitDir
from selfplay.repository.fetching.source import GitSource
from selfplay.repository.fetching.transport import ASKED, _within, located, receive

Make = Callable[..., Path]


@contextmanager
def remote(files: Path, moved: Callable[[str], str | None]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """A server of these files that wants a password: its URL, and (path, credentials) of what it was asked. `moved`:
    path -> where that is sent on to."""
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = self.headers.get("Authorization", "")
            asked.append((self.path, said))
            path = files / self.path.partition("?")[0].lstrip("/")
            if place := moved(self.path):
                self.send_response(301)
                self.send_header("Location", place)
            elif not said:
                self.send_response(401)
                self.send_header("WWW-Authenticate", "Basic realm=x")
            else:
                self.send_response(200 if path.is_file() else 404)
            body = path.read_bytes() if said and not moved(self.path) and path.is_file() else b""
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitDir:
    """A store, for a user who has a password for this machine and lets git follow every redirect."""
    config = "[http]\n\tfollowRedirects = true\n"
    config += (
        '[http "http://127.0.0.1"]\n\tfollowRedirects = true\n[http "https://127.0.0.1"]\n\tfollowRedirects = true\n'
    )
    write(tmp_path / "home", {".netrc": "default login me password pw\n", ".gitconfig": config})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("no_proxy", "*")
    return GitDir.create(tmp_path / "store")


@pytest.fixture
def served(repository: Make, tmp_path: Path) -> Path:
    """A folder with the bare repository `new`, as a plain web server offers it."""
    folder = repository({"a.py": "1\n"})
    git(folder, "tag", "v1")
    git(folder.parent, "clone", "--quiet", "--bare", str(folder), str(tmp_path / "served" / "new"))
    git(tmp_path / "served" / "new", "update-server-info")
    return tmp_path / "served"


@pytest.mark.slow
def test_within_the_host_a_source_is_followed(served: Path, store: GitDir) -> None:
    """From `/old` to `/older` to `/new`, the second time by a relative address."""

    def moved(path: str) -> str | None:
        if path.startswith("/older"):
            return path.replace("/older", "/new")
        return path.replace("/old", "/older") if path.startswith("/old") else None

    with remote(served, moved) as (url, _):
        found, tags = located(store, GitSource(f"{url}/old"))
        assert found.url == f"{url}/new" and [line.partition("\t")[2] for line in tags] == ["refs/tags/v1"]
        assert receive(store, GitSource(found.url, "v1")) == ""


@pytest.mark.slow
def test_to_another_host_nothing_is_asked(served: Path, store: GitDir) -> None:
    """Another port is another server too: the source's own host, and any other of this machine."""
    with remote(served, lambda path: None) as (inner, reached):
        with remote(served, lambda path: inner + path.replace("/old", "/new")) as (url, asked):
            with pytest.raises(SourceError, match=f"redirects to '{inner}/new'") as caught:
                located(store, GitSource(f"{url}/old"))
            assert caught.value.hint == "Name that address yourself if you want it."
            with pytest.raises(SourceError, match="cannot be fetched"):
                receive(store, GitSource(f"{url}/old"))
        assert asked and reached == []


@pytest.mark.slow
def test_a_source_that_is_sent_round_and_round(served: Path, store: GitDir) -> None:
    with remote(served, lambda path: path) as (url, asked), pytest.raises(SourceError, match="again and again"):
        located(store, GitSource(f"{url}/old"))
    assert len(asked) == 5


@pytest.mark.parametrize(
    ("named", "location", "wanted"),
    [
        ("http://h/a", "https://h/b", "https://h/b"),
        ("https://h:8443/a", "https://h:8443/b", "https://h:8443/b"),
        ("https://H/a", "https://h/b", "https://h/b"),
        ("https://me:pw@h/a", "https://h/b", "https://h/b"),
        ("https://h/a", "http://h/b", ""),
        ("HTTPS://h/a", "http://h:443/b", ""),
        ("http://h/a", "https://h:444/b", ""),
        ("https://h/a", "https://h.other/b", ""),
        ("https://h/a", "https://me@h/b", ""),
        ("https://h/a", "https://other\\@h/b", ""),
        ("https://h/a", "https://h\\.other/b", ""),
        ("https://h/a", "file:///h/b", ""),
        ("https://h/a", "https://[::1/b", ""),
        ("https://h/a", "//other/b", ""),
    ],
)
def test_what_is_the_same_host(named: str, location: str, wanted: str) -> None:
    if wanted:
        assert _within(GitSource(named), location + ASKED) == wanted
        assert _within(GitSource(named), "/c" + ASKED) == named[:-1] + "c"
        return
    with pytest.raises(SourceError, match="redirects to"):
        _within(GitSource(named), location + ASKED)


def test_a_place_that_is_no_repositorys_is_not_asked() -> None:
    with pytest.raises(SourceError, match="redirects to 'https://h/login'"):
        _within(GitSource("https://h/a"), "/login")
