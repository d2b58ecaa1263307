"""A Go repository whose modules come from a proxy: a real folder of modules, the real `go`, real sandboxes."""

import base64
import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest
from package_index import serving
from repository_fixtures import write

from selfplay.repository import BuildFailed, NoTests, measure_suite, prepare
from selfplay.repository.network.indexes import local_folder
from selfplay.sandbox import Backend

pytestmark = pytest.mark.slow

MODULE, VERSION = "example.com/Match", "v1.0.0"
MODULE_FILES = {
    "go.mod": f"module {MODULE}\n",
    "match.go": "package match\n\nfunc Same(a, b int) bool { return a == b }\n",
}
PROJECT = {
    "go.mod": f"module example.com/own\n\ngo 1.19\n\nrequire {MODULE} {VERSION}\n",
    "add.go": "package own\n\nfunc Add(a, b int) int { return a + b }\n",
    "add_test.go": f'package own\n\nimport (\n\t"testing"\n\n\tmatch "{MODULE}"\n)\n\nfunc TestAdd(t *testing.T) {{\n'
    "\tif !match.Same(Add(1, 2), 3) {\n\t\tt.Fatal()\n\t}\n}\n",
}


def _sum(files: dict[str, str]) -> str:
    """The hash of a module's files, `h1:` of go.sum: that of the lines that `sha256sum` writes for them."""
    lines = [f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items())]
    return "h1:" + base64.b64encode(hashlib.sha256("".join(lines).encode()).digest()).decode()


@pytest.fixture
def proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with one module, as the only proxy; returns the project's go.sum."""
    place = tmp_path / "proxy" / "example.com/!match" / "@v"
    place.mkdir(parents=True)
    packed, inside = io.BytesIO(), {f"{MODULE}@{VERSION}/{name}": text for name, text in MODULE_FILES.items()}
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in inside.items():
            archive.writestr(name, text)
    (place / f"{VERSION}.zip").write_bytes(packed.getvalue())
    (place / f"{VERSION}.mod").write_text(MODULE_FILES["go.mod"])
    (place / f"{VERSION}.info").write_text(json.dumps({"Version": VERSION, "Time": "2024-01-02T03:04:05Z"}))
    monkeypatch.setenv("GOPROXY", (tmp_path / "proxy").as_uri())
    monkeypatch.setenv("GOSUMDB", "off")
    mod = _sum({"go.mod": MODULE_FILES["go.mod"]})
    return f"{MODULE} {VERSION} {_sum(inside)}\n{MODULE} {VERSION}/go.mod {mod}\n"


def test_modules_are_downloaded_once_and_lie_outside_of_the_tree(
    backend: Backend, cache: Path, tmp_path: Path, proxy: str
) -> None:
    project = write(tmp_path / "project", {**PROJECT, "go.sum": proxy})
    prepared = prepare(str(project), backend=backend, cache=cache)
    suite = measure_suite(prepared, backend, time_limit=400)
    assert list(suite.seconds) == ["add_test.go::TestAdd"]
    (mount,) = prepared.mounts
    assert mount.target == "/go-modules" and (mount.source / "example.com/!match@v1.0.0/match.go").is_file()
    assert not list(mount.source.rglob("*.zip")) and not (prepared.tree / "vendor").exists()


def test_a_proxy_on_this_machine_is_reached(
    backend: Backend, cache: Path, tmp_path: Path, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `go env -w GOPROXY=http://localhost:3000` names one, here with a password that the build does not get."""
    place = tmp_path / "proxy"
    pages = {f"/{path.relative_to(place)}": path.read_bytes() for path in place.rglob("*") if path.is_file()}
    project = write(tmp_path / "project", {**PROJECT, "go.sum": proxy})
    with serving(pages, password="me:p@ss") as (port, _):
        monkeypatch.setenv("GOPROXY", f"http://me:p%40ss@127.0.0.1:{port}")
        prepared = prepare(str(project), backend=backend, cache=cache)
    assert (prepared.mounts[0].source / "example.com/!match@v1.0.0/match.go").is_file()


def test_a_module_that_is_not_what_go_sum_says_is_not_used(
    backend: Backend, cache: Path, tmp_path: Path, proxy: str
) -> None:
    project = write(tmp_path / "project", {**PROJECT, "go.sum": proxy.replace("h1:", "h1:A", 1)})
    with pytest.raises((BuildFailed, NoTests), match="SECURITY ERROR"):
        measure_suite(prepare(str(project), backend=backend, cache=cache), backend, time_limit=400)


def test_modules_that_cannot_be_had_are_named_with_what_to_do(
    backend: Backend, cache: Path, tmp_path: Path, proxy: str
) -> None:
    other = {**PROJECT, "go.mod": PROJECT["go.mod"].replace(VERSION, "v1.0.1"), "go.sum": proxy}
    project = write(tmp_path / "project", other)
    with pytest.raises(BuildFailed, match=r"the modules that go\.mod requires cannot be downloaded") as caught:
        prepare(str(project), backend=backend, cache=cache)
    assert "example.com/Match@v1.0.1" in caught.value.message
    assert "Name another proxy in GOPROXY, or run `go mod vendor` in a checkout" in caught.value.hint


def test_what_some_missing_modules_cost_is_told_by_the_tests(
    backend: Backend, cache: Path, tmp_path: Path, proxy: str
) -> None:
    """One of two modules is there."""
    other = {
        **PROJECT, "go.mod": PROJECT["go.mod"] + "require example.com/gone v1.0.0\n", "go.sum": proxy,
        "sub/sub_test.go": 'package sub\n\nimport _ "example.com/gone"\n',
    }  # fmt: skip
    prepared = prepare(str(write(tmp_path / "project", other)), backend=backend, cache=cache)
    assert "modules that cannot be downloaded: example.com/gone@v1.0.0" in prepared.notes
    with pytest.raises(NoTests) as caught:
        measure_suite(prepared, backend, time_limit=400, command="go test ./sub")
    assert "Modules that it needs were not downloaded, as the build's notes say" in caught.value.hint


def test_a_project_without_modules_needs_no_network(
    backend: Backend, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selfplay.repository.network.egress.allowed_for", lambda *_, **__: pytest.fail("asked"))
    own = {"go.mod": "module example.com/own\n\ngo 1.19\n", "add_test.go": "package own\n"}
    assert prepare(str(write(tmp_path / "project", own)), backend=backend, cache=cache).mounts == ()


def test_a_project_for_a_newer_go_says_so(backend: Backend, cache: Path, tmp_path: Path) -> None:
    newer = {
        "go.mod": "module example.com/own\n\ngo 1.999\n", "own.go": 'package own\n\nimport _ "not/yet/there"\n',
        "own_test.go": 'package own\n\nimport "testing"\n\nfunc TestOwn(t *testing.T) {}\n',
    }  # fmt: skip
    prepared = prepare(str(write(tmp_path / "project", newer)), backend=backend, cache=cache)
    with pytest.raises(NoTests) as caught:
        measure_suite(prepared, backend, time_limit=400)
    assert "The Go of this machine is older than the project needs" in caught.value.hint


def test_a_go_mod_that_an_older_go_cannot_read_says_so(backend: Backend, cache: Path, tmp_path: Path) -> None:
    """Go 1.19 knows neither a version with a patch number nor where a toolchain comes from."""
    newer = {"go.mod": "module example.com/own\n\ngo 1.999.1\n\nrequire example.com/x v1.0.0\n", "a.go": "package a\n"}
    with pytest.raises(BuildFailed) as caught:
        prepare(str(write(tmp_path / "project", newer)), backend=backend, cache=cache)
    assert "The Go of this machine is older than the project needs" in caught.value.hint


def test_a_proxy_folder_is_a_local_folder(tmp_path: Path) -> None:
    assert local_folder(tmp_path.as_uri()) == tmp_path
