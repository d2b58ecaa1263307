"""Releases without tests: their repository is read instead, at the release's tag, or named with the next step."""

import hashlib
import io
import socket
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from package_index import serving
from repository_fixtures import git

from selfplay.repository import NoTests, SourceError
from selfplay.repository.fetching import sdist_without_tests
from selfplay.repository.fetching.fetch import access_to
from selfplay.repository.fetching.gitdir import GitDir
from selfplay.repository.fetching.sdist_without_tests import at_tag, may_hold_tests, reading_tested
from selfplay.repository.fetching.source import GitSource, parse_source
from selfplay.repository.fetching.transport import Access
from selfplay.repository.workshop import Workshop
from selfplay.sandbox import Backend

HOME = "https://github.com/demo-4711/demo"
NAMED = f"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nProject-URL: Source, {HOME}\n"
SILENT = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"


def pages(metadata: str) -> dict[str, bytes]:
    """An index with one sdist, which holds a module and the metadata."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in {"PKG-INFO": metadata, "demo.py": "X = 1\n", "setup.py": ""}.items():
            info = tarfile.TarInfo(f"demo-1.0/{name}")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    data = packed.getvalue()
    link = f'<a href="/demo-1.0.tar.gz#sha256={hashlib.sha256(data).hexdigest()}">demo-1.0.tar.gz</a>'
    return {"/simple/demo/": f"<!DOCTYPE html>{link}".encode(), "/demo-1.0.tar.gz": data}


def read(metadata: str, backend: Backend, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str, list[str]]:
    """(what was read, its revision, what was said) of `pypi:demo`."""
    said: list[str] = []
    folder.chmod(0o755)
    with serving(pages(metadata)) as (port, _):
        for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
        workshop = Workshop(backend, folder, folder, said.append)
        with reading_tested(parse_source("pypi:demo"), workshop, 0) as (shown, found, _):
            return shown, found.revision, said


def test_the_repository_is_read_at_the_tag_of_the_release(
    backend: Backend, repository: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream = repository({"demo.py": "X = 1\n", "test_demo.py": ""}, {"demo.py": "X = 2\n"}, name="upstream")
    git(upstream, "tag", "v1.0", "HEAD~1")
    monkeypatch.setattr(sdist_without_tests, "located", lambda store, source, access: answers(source, upstream))
    (work := tmp_path / "work").mkdir()
    shown, revision, said = read(NAMED, backend, work, monkeypatch)
    assert (shown, revision) == (f"file://{upstream}@v1.0", "v1.0")
    assert said[-2:-1] == [f"the sdist of demo 1.0 holds no tests: its repository is taken, {shown}"]


@pytest.fixture(autouse=True)
def addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the well-known hosts, which a test does not ask."""
    found = [(socket.AF_INET, 1, 6, "", ("8.8.8.8", 443))]
    here = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **kinds: found if host == "github.com" else here(host, *rest, **kinds),
    )


def test_what_the_metadata_name_is_asked_as_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may name what only this user can read, which would then lie in the run."""
    asked: list[Access] = []
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'http.extraHeader'='Authorization: mine'")
    monkeypatch.setattr(
        sdist_without_tests, "located",
        lambda store, source, access: (asked.append(access), (source, ("0" * 40 + "\trefs/tags/1.0",)))[1],
    )  # fmt: skip
    found = at_tag(GitDir.create(tmp_path / "store"), HOME, "demo", "1.0")
    for access in (*asked, access_to(found)):
        assert not access.user_config and access.env["GIT_CONFIG_PARAMETERS"] is None
        assert access.settings["credential.helper"] == "" and access.env["GIT_ALLOW_PROTOCOL"] == "https"
        assert access.settings["http.curloptResolve"] == "github.com:443:8.8.8.8"
    for url in ("http://github.com/a/b", "https://me:pw@github.com/a/b", "https://127.0.0.1/a/b"):
        with pytest.raises(SourceError, match="is not fetched: "):
            access_to(GitSource(url, anonymous=True))
    assert access_to(GitSource(HOME)).user_config


def answers(source: GitSource, upstream: Path) -> tuple[GitSource, tuple[str, ...]]:
    """The well-known host, which a test does not ask: the folder answers for it."""
    assert source.url == HOME
    return GitSource(f"file://{upstream}"), ("0" * 40 + "\trefs/tags/v1.0", "1" * 40 + "\trefs/tags/v1.0^{}")


def test_without_a_repository_the_error_asks_for_one(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NoTests, match=r"the sdist of demo 1\.0 holds no tests, and its metadata name no repository"):
        read(SILENT, backend, tmp_path, monkeypatch)


def test_a_repository_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = GitDir.create(tmp_path / "store")
    monkeypatch.setattr(sdist_without_tests, "located", lambda store, source, access: (source, ()))
    with pytest.raises(SourceError, match="does not answer") as caught:
        at_tag(store, HOME, "demo", "1.0")
    assert caught.value.hint.endswith(f"selfplay curriculum {HOME}")


@pytest.mark.parametrize(
    ("tag", "found"),
    [("v1.0", True), ("1.0", True), ("demo-1.0", True), ("release-1.0", True), ("rel_1_0", True), ("v1.0.1", False)],
)
def test_tags_of_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str, found: bool) -> None:
    store = GitDir.create(tmp_path / "store")
    monkeypatch.setattr(
        sdist_without_tests, "located", lambda store, source, access: (source, ("0" * 40 + f"\trefs/tags/{tag}",))
    )
    if found:
        assert at_tag(store, HOME, "demo", "1.0") == GitSource(HOME, tag, anonymous=True)
    else:
        with pytest.raises(SourceError, match="no tag of this version"):
            at_tag(store, HOME, "demo", "1.0")


@pytest.mark.parametrize(
    ("path", "maybe"),
    [
        ("tests/a.py", True), ("pkg/test/a.py", True), ("test_a.py", True), ("a_test.py", True), ("tests.py", True),
        ("pkg/testing.py", False), ("pkg/testclient.py", False), ("tests/data.txt", False), ("pkg/contest.py", False),
    ],
)  # fmt: skip
def test_files_that_may_be_tests(path: str, maybe: bool) -> None:
    assert may_hold_tests([path], "python") == maybe
    assert may_hold_tests([path], "c")
