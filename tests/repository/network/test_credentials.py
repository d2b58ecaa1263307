"""Credentials of a configured index: builds read from it, and see none of them."""

import asyncio
import base64
import io
import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from package_index import own_authority, serving, wheel

from selfplay.repository.building.environment import _uv
from selfplay.repository.building.interpreters import choose
from selfplay.repository.errors import SourceError
from selfplay.repository.network.credentials import Secret, all_secrets, take_out
from selfplay.repository.network.egress import open_egress
from selfplay.repository.network.egress import serving as proxied
from selfplay.repository.network.hosts import Address, Allowed
from selfplay.repository.network.indexes import CERTIFICATES, Indexes, for_sandbox
from selfplay.repository.network.proxy import Proxy, _with
from selfplay.repository.network.proxy_request import parse
from selfplay.sandbox import Backend, Mount, World

WHO = "me:p@ss"
TOKEN = base64.b64encode(WHO.encode()).decode()
NAME, DATA = wheel("parcel", "WHERE = 'from the index'\n")
RELATIVE = f'<!DOCTYPE html><a href="../../files/{NAME}">{NAME}</a>'.encode()
PAGES = {"/simple/parcel/": RELATIVE, "/simple/pytest/": RELATIVE, f"/files/{NAME}": DATA}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No index but the test's, and no proxy of the user."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "PIP_EXTRA_INDEX_URL", "UV_INDEX", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setattr("selfplay.repository.network.indexes._pip_files", dict)
    return monkeypatch


@contextmanager
def index(scheme: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    """(URL with credentials, paths asked for)."""
    tls = None
    if scheme == "https":
        tls, authority = own_authority(folder)
        for name in CERTIFICATES:
            monkeypatch.setenv(name, str(authority))
    with serving(PAGES, tls, password=WHO) as (port, asked):
        yield f"{scheme}://me:p%40ss@127.0.0.1:{port}/simple", asked


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_build_installs_from_an_index_whose_password_it_never_sees(
    backend: Backend, tmp_path: Path, alone: pytest.MonkeyPatch, scheme: str
) -> None:
    with index(scheme, tmp_path, alone) as (url, asked):
        alone.setenv("UV_DEFAULT_INDEX", url)
        python = choose(None, None)
        prefix = (Mount(python.prefix, str(python.prefix)),) if python.prefix else ()
        with open_egress(backend) as egress:
            env, mounts = for_sandbox(egress.indexes)
            env = {**env, **egress.env, "UV_CACHE_DIR": "/tmp/uv", "PYTHON": str(python.executable)}
            shown = (*mounts, *prefix, *egress.mounts, Mount(_uv(), "/build/uv"))
            with backend.open(World(mounts=shown, env=env)) as sandbox:
                install = '/build/uv pip install --python "$PYTHON" --target /tmp/got parcel && cat /tmp/got/parcel.py'
                done = sandbox.run(egress.leading(f"cd /tmp; {install}; env"), timeout=60, cwd="/", merge_stderr=True)
        assert "from the index" in done.text and f"/files/{NAME}" in asked, done.text
        assert "p%40ss" not in done.text and "p@ss" not in done.text and "me:" not in done.text
        assert not egress.kept


def test_what_a_build_is_given(tmp_path: Path, alone: pytest.MonkeyPatch) -> None:
    """The same address without a user; behind https as plain http to the same port."""
    with index("https", tmp_path, alone) as (url, _):
        port = int(url.split(":")[3].split("/")[0])
        found = take_out(Indexes(url, ("http://a:b@files.example/simple", "https://open.example/simple", "/a")), {
            "SSL_CERT_FILE": str(tmp_path / "ca.pem")
        })  # fmt: skip
    extra = ("http://files.example/simple", "https://open.example/simple", "/a")
    assert found.inside == Indexes(f"http://127.0.0.1:{port}/simple", extra) and not found.kept
    assert found.secrets[Address("127.0.0.1", port)] == Secret(f"Basic {TOKEN}", tls=True)
    assert found.secrets[Address("files.example", 80)] == Secret("Basic YTpi", tls=False)
    assert found.env == {"PIP_TRUSTED_HOST": f"127.0.0.1:{port} files.example:80"}


def test_an_index_whose_pages_name_it_by_https_keeps_its_credentials_and_that_is_said(
    tmp_path: Path, alone: pytest.MonkeyPatch
) -> None:
    """And one whose page cannot be read: nobody knows what it names."""
    tls, authority = own_authority(tmp_path)
    page = {"/simple/pytest/": b'<a href="https://127.0.0.1:1/files/a-1.tar.gz">a-1.tar.gz</a>'}
    with serving(page, tls, password=WHO) as (port, _):
        for place in ("simple", "none"):
            url = f"https://me:p%40ss@127.0.0.1:{port}/{place}"
            found = take_out(Indexes(url), {"SSL_CERT_FILE": str(authority)})
            assert found.inside == Indexes(url) and found.kept == (f"127.0.0.1:{port}",) and not found.secrets


@pytest.mark.slow
def test_npm_installs_from_a_registry_whose_password_it_never_sees(
    backend: Backend, tmp_path: Path, alone: pytest.MonkeyPatch
) -> None:
    """Its pages name the package's file by the registry's own address, as npm's do."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in {"package.json": '{"name": "parcel", "version": "1.0.0"}', "index.js": "// packed"}.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    pages = {"/parcel/-/parcel-1.0.0.tgz": packed.getvalue()}
    with serving(pages, password=WHO) as (port, asked):
        place = f"http://127.0.0.1:{port}/parcel/-/parcel-1.0.0.tgz"
        version = {"name": "parcel", "version": "1.0.0", "dist": {"tarball": place}}
        page = {"name": "parcel", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
        pages["/parcel"] = json.dumps(page).encode()
        alone.setenv("npm_config_registry", f"http://me:p%40ss@127.0.0.1:{port}/")
        with (
            open_egress(backend, npm=True) as egress,
            backend.open(World(mounts=egress.mounts, env={"PATH": "/usr/bin:/bin", **egress.env})) as sandbox,
        ):
            install = "cd /tmp; npm install --prefix /tmp/got parcel; cat /tmp/got/node_modules/parcel/index.js; env"
            done = sandbox.run(egress.leading(install), timeout=120, cwd="/", merge_stderr=True)
    assert "// packed" in done.text and "/parcel/-/parcel-1.0.0.tgz" in asked, done.text
    assert "p%40ss" not in done.text and "p@ss" not in done.text and "me:" not in done.text


def test_two_indexes_at_one_address_with_other_credentials() -> None:
    """One address has one pair of them; the other index stays as it was."""
    found = take_out(Indexes("http://a:b@i.example/one", ("http://c:d@i.example/two",)), {})
    assert found.inside == Indexes("http://i.example/one", ("http://c:d@i.example/two",))
    assert found.kept == ("i.example:80",) and len(found.secrets) == 1


def test_two_tools_with_other_users_of_one_host_are_refused() -> None:
    one, other = Secret("Basic a", tls=True), Secret("Basic b", tls=True)
    here = Address("h.example", 443)
    assert all_secrets({here: one}, {}, {here: one}) == {here: one}
    with pytest.raises(SourceError, match=r"different users of h\.example:443"):
        all_secrets({here: one}, {here: other})


@pytest.mark.parametrize(
    ("method", "headers", "status", "sees"),
    [
        ("GET", "", 200, 1),
        ("GET", "Authorization: Basic eDp5\r\n", 200, 1),
        ("PUT", "Content-Length: 0\r\n", 405, 0),
        ("GET", "Content-Length: 4\r\n", 405, 0),
    ],
)
def test_the_proxy_adds_them_to_reading_alone(
    tmp_path: Path, alone: pytest.MonkeyPatch, method: str, headers: str, status: int, sees: int
) -> None:
    """Whatever the build itself sends as its own; an upload with them is none of a build's business."""
    with serving({"/simple/": b"page"}, password=WHO) as (port, asked):
        address = Address("127.0.0.1", port)
        proxy = Proxy(Allowed(frozenset({address})), {address: Secret(f"Basic {TOKEN}", tls=False)})
        with proxied(proxy, tmp_path / "proxy.sock", (0, 0)):
            text = f"{method} http://{address}/simple/ HTTP/1.1\r\nHost: x\r\n{headers}\r\n"
            answer = asyncio.run(said(tmp_path / "proxy.sock", text))
    assert answer.startswith(f"HTTP/1.1 {status} " if status != 200 else "HTTP/1.0 200 ") and len(asked) == sees


def test_beside_them_only_what_says_how_is_read_is_sent(tmp_path: Path, alone: pytest.MonkeyPatch) -> None:
    """A server may do what another header says, with the user's rights."""
    others = "X-HTTP-Method-Override: DELETE\r\nX-Original-URL: /admin\r\nCookie: a\r\n"
    kept = "accept: */*\r\naccept-encoding: gzip\r\nuser-agent: pip\r\nif-none-match: x\r\nrange: bytes=0-\r\n"
    request = parse(f"GET http://a.example/simple/ HTTP/1.1\r\nHost: x\r\n{others}{kept}\r\n".encode())
    sent = _with(request, Secret(f"Basic {TOKEN}", tls=False)).headers
    assert [name for name, _ in sent] == [
        "accept", "accept-encoding", "user-agent", "if-none-match", "range", "authorization",
    ]  # fmt: skip


async def said(place: Path, text: str) -> str:
    reader, writer = await asyncio.open_unix_connection(place)
    writer.write(text.encode())
    answer = await asyncio.wait_for(reader.read(), 30)
    writer.close()
    return answer.decode()
