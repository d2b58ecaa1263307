"""A real package index, served from a folder on the loopback."""

import functools
import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pypi_simple import PyPISimple
from repository_fixtures import Taken

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching import pypi
from selfplay.repository.fetching.gitdir import GitDir
from selfplay.repository.fetching.source import PypiSource
from selfplay.sandbox import owners

Release = tuple[str, str]  # version, attributes of its link


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Publishes sdists of `demo`, whose `demo.py` holds the version; sets the variable pip reads the index from."""
    root = tmp_path / "index"
    (root / "simple" / "demo").mkdir(parents=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=root))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")

    def publish(*releases: Release, digest: str | None = None) -> Path:
        links = []
        for version, attributes in releases:
            name = f"demo-{version}.tar.gz"
            with tarfile.open(root / name, "w:gz") as tar:
                info = tarfile.TarInfo(f"demo-{version}/demo.py")
                info.size = len(version)
                tar.addfile(info, io.BytesIO(version.encode()))
            sha = digest or hashlib.sha256((root / name).read_bytes()).hexdigest()
            links.append(f'<a href="/{name}#sha256={sha}" {attributes}>{name}</a><br>')
        (root / "simple" / "demo" / "index.html").write_text("<!DOCTYPE html><html><body>" + "".join(links))
        return root

    yield publish
    server.shutdown()
    server.server_close()


Get = Callable[..., Taken]


@pytest.fixture
def get(taken: Callable[..., Taken]) -> Get:
    """The release of `demo` with that version, or the newest."""
    return lambda version=None, releases=12: taken("pypi:demo" + (f"=={version}" if version else ""), releases)


def subjects(one: Taken) -> list[str]:
    return one.git("log", "--format=%s").splitlines()


YANKED = 'data-yanked="broken"'


@pytest.mark.slow
def test_releases_are_history_without_pre_releases_and_yanked_ones(index: Callable[..., Path], get: Get) -> None:
    index(("1.0", ""), ("1.10", ""), ("1.2", ""), ("1.3rc1", ""), ("1.4", YANKED), ("2.0b1", ""))
    newest = get()
    assert subjects(newest) == ["demo 1.10", "demo 1.2", "demo 1.0"]
    assert (newest.tree / "demo.py").read_text() == "1.10"
    assert get().found.commit == newest.found.commit  # the same releases, the same ids
    assert subjects(get("1.10", releases=1)) == ["demo 1.10", "demo 1.2"]
    assert subjects(get("2.0b1", releases=0)) == ["demo 2.0b1"]
    assert subjects(get("1.4", releases=1)) == ["demo 1.4", "demo 1.2"]


@pytest.mark.slow
def test_what_is_not_there_is_named(index: Callable[..., Path], get: Get) -> None:
    index(("1.0", ""))
    with pytest.raises(SourceError, match=r"no sdist of this version\n  The newest with one are: 1\.0"):
        get("3.0")
    index()
    with pytest.raises(SourceError, match="has no sdist of 'demo'"):
        get()


def test_a_download_that_is_not_what_the_index_promised(index: Callable[..., Path], get: Get) -> None:
    index(("1.0", ""), digest="0" * 64)
    with pytest.raises(SourceError, match=r"demo-1\.0\.tar\.gz cannot be downloaded"):
        get()


@pytest.mark.slow
def test_an_old_release_that_is_gone_is_a_note(index: Callable[..., Path], get: Get) -> None:
    root = index(("1.0", ""), ("1.1", ""))
    (root / "demo-1.0.tar.gz").unlink()
    checkout = get()
    assert subjects(checkout) == ["demo 1.1"] and "release 1.0 is missing" in checkout.found.notes[0]


def test_no_index(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    with pytest.raises(SourceError, match="cannot be reached"):
        get()


@pytest.mark.slow
def test_a_download_without_end(index: Callable[..., Path], get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    index(("1.0", ""))
    monkeypatch.setattr(pypi._download, "__defaults__", (20,))  # the archive has some 150 bytes
    with pytest.raises(SourceError, match=r"demo-1\.0\.tar\.gz is larger than 20 bytes"):
        get()


@pytest.mark.slow
def test_what_a_killed_download_left_is_swept(
    tmp_path: Path, index: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part lies in a folder that names its process, so that the next download knows whose is left."""
    index(("1.0", ""))
    dead, alive = (tmp_path / f"{owners.PREFIX}{who}.{owners.namespace()}.x" for who in ("1-0", owners.identity(1)))
    for folder in (dead, alive):
        folder.mkdir()
        (folder / "part").write_bytes(bytes(100))
    parts: list[Path] = []
    real = PyPISimple.download_package

    def followed(client: PyPISimple, package: Any, path: Path, **options: Any) -> None:
        parts.append(path)
        real(client, package, path, **options)

    monkeypatch.setattr(PyPISimple, "download_package", followed)
    for _ in range(2):
        _, _, (mount,) = pypi.download(
            PypiSource("demo"), GitDir(tmp_path), downloads=tmp_path, releases=0, progress=lambda line: None
        )
    assert [part.parent.parent.name.startswith(owners.marked()) for part in parts] == [True]
    assert {path.name for path in tmp_path.iterdir()} == {alive.name, "index", mount.source.name}
