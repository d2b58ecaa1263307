"""Whole builds with a way out: which hosts they may reach, and what is said of those they may not."""

from pathlib import Path

import pytest
from package_index import package_index, serving
from repository.ways_out import backend, own_index
from repository_fixtures import write

from selfplay.repository import BuildFailed, prepare, rebuild, write_original
from selfplay.repository.errors import SourceError
from selfplay.repository.network.egress import Egress, examine_egress
from selfplay.sandbox import Backend, Sandbox

__all__ = ["backend", "own_index"]


def test_a_failed_build_names_the_hosts_it_asked_for(
    backend: Backend, cache: Path, tmp_path: Path, own_index: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "far", {"Makefile": "all:\n", "main.c": ""})
    with serving({}) as (port, _):
        own_index.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
        said: list[str] = []
        with pytest.raises(BuildFailed) as caught:
            fetch = "curl -sSf https://files.example.org/data.bin"
            prepare(str(folder), backend=backend, cache=cache, setup=fetch, progress=said.append)
    hint = caught.value.hint
    assert "The build asked for files.example.org:443, where it may not go" in hint
    assert "--allow-host files.example.org:443" in hint
    assert f"the build may reach 127.0.0.1:{port}, and nothing else" in said
    log = Path(hint.rpartition("The whole log: ")[2]).read_text()
    assert "refused: this build may not reach files.example.org:443" in log and "egress.py" not in log


@pytest.mark.long
def test_allowed_hosts_are_recorded_and_part_of_the_key(
    backend: Backend, cache: Path, tmp_path: Path, own_index: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "asks", {"Makefile": "all:\n", "main.c": ""})
    with serving({"/": b"data"}) as (port, _):
        own_index.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port + 1}/simple")
        setup = f"curl -sS http://127.0.0.1:{port}/ > data"
        without = prepare(str(folder), backend=backend, cache=cache, setup=setup)
        hosts = [f"127.0.0.1:{port}"]
        allowed = prepare(str(folder), backend=backend, cache=cache, setup=setup, allow_hosts=hosts)
    assert (allowed.tree / "data").read_text() == "data" and "may not reach" in (without.tree / "data").read_text()
    assert allowed.recorded["allow_hosts"] == hosts and "allow_hosts" not in without.recorded
    write_original(allowed, tmp_path / "original", backend)
    with pytest.raises(SourceError, match=r"was built with access to 127\.0\.0\.1"):
        rebuild(tmp_path / "original", allowed.recorded, backend=backend, cache=cache)
    again = rebuild(tmp_path / "original", allowed.recorded, backend=backend, cache=cache, allow_hosts=hosts)
    assert again.tree_hash == allowed.tree_hash


def test_a_build_that_installs_nothing_opens_no_way_out(
    backend: Backend, cache: Path, tmp_path: Path, own_index: pytest.MonkeyPatch
) -> None:
    with serving({}) as (port, asked):
        own_index.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
        said: list[str] = []
        folder = write(tmp_path / "plain", {"Makefile": "all:\n", "main.c": f"/* {backend.name} */"})
        prepare(str(folder), backend=backend, cache=cache, progress=said.append)
    assert asked == [] and not any("reach" in line for line in said)


def test_where_sandboxes_cannot_use_the_socket_it_is_said_and_nothing_is_reached(
    backend: Backend, own_index: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch, cache: Path, tmp_path: Path
) -> None:
    """As with an engine on another machine, or gVisor: here the socket is gone before the sandbox begins."""
    real = Egress.check

    def lose(egress: Egress, sandbox: Sandbox) -> None:
        egress.forwarder = (*egress.forwarder[:-1], "/build/none.sock")
        real(egress, sandbox)

    monkeypatch.setattr(Egress, "check", lose)
    with package_index() as (url, _, _):
        own_index.setenv("PIP_INDEX_URL", url)
        assert examine_egress(backend).startswith("the build reaches no package index: its sandbox cannot use a socket")
        said: list[str] = []
        folder = write(tmp_path / "lost", {"Makefile": "all:\n", "main.c": f"/* {backend.name} */"})
        with pytest.raises(BuildFailed, match="The build reached no package index: its sandbox cannot use a socket"):
            prepare(str(folder), backend=backend, cache=cache, setup="env | grep -i _proxy", progress=said.append)
    assert any(line.startswith("the build reaches no package index") for line in said)
