"""An engine that stops answering: a wire to the real one, which can be cut."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from selfplay.sandbox import World
from selfplay.sandbox.docker import opening as docker
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.docker.client import EngineLost, EngineUnavailable, chain, unreachable

from .attacks import SMALL

pytestmark = [pytest.mark.docker, pytest.mark.slow]


class Wire:
    """Forwards every connection to the engine's socket until it is cut."""

    def __init__(self, place: Path, engine: str) -> None:
        self.engine = engine
        self.ends: list[socket.socket] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(place))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                ours, _ = self.listener.accept()
                theirs = socket.socket(socket.AF_UNIX)
                theirs.connect(self.engine)
                self.ends += [ours, theirs]
                for source, target in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=self.forward, args=(source, target), daemon=True).start()

    def forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        for end in (self.listener, *self.ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.fixture
def wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    engine = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    made = Wire(tmp_path / "wire.sock", engine)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/wire.sock")
    yield made
    made.cut()


def test_an_engine_that_goes_away_is_named_and_its_containers_end_by_themselves(wire: Wire) -> None:
    backend = DockerBackend()
    sandbox = backend.start(World(), SMALL)
    failures: list[Exception] = []

    def command() -> None:
        try:
            sandbox.run("sleep 300", timeout=300)
        except EngineUnavailable as error:
            failures.append(error)

    thread = threading.Thread(target=command)
    thread.start()
    time.sleep(0.3)
    wire.cut()
    thread.join(30)
    assert not thread.is_alive()
    assert "no Docker engine answers" in str(failures[0]) and "DOCKER_HOST" in str(failures[0])
    with pytest.raises(EngineUnavailable, match="no Docker engine answers"):
        backend.start(World(), SMALL)


def test_its_containers_are_gone(monkeypatch: pytest.MonkeyPatch, wire: Wire) -> None:
    sandbox = DockerBackend().start(World(), SMALL)
    wire.cut()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{wire.engine}")
    backend = DockerBackend()
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline and sandbox.id in {one["Id"] for one in backend.engine.api.containers(all=True)}:
        time.sleep(0.05)
    assert sandbox.id not in {one["Id"] for one in backend.engine.api.containers(all=True)}


def test_a_command_that_begins_waits_for_an_engine_that_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody listens at the socket's file yet, as after a kill; the engine comes, and is lost once more in the middle
    of the probe."""
    engine = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    place, wires, probes = tmp_path / "engine.sock", [], []
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(place))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place}")

    def starts(seconds: float) -> None:
        if seconds == docker.AWAY_PAUSE:
            place.unlink()
            wires.append(Wire(place, engine))

    def probed(backend: DockerBackend) -> tuple[str, ...]:
        probes.append(backend)
        if len(probes) == 1:
            wires[0].cut()
        return real(backend)

    real = docker.probe
    monkeypatch.setattr(docker, "probe", probed)
    monkeypatch.setattr(docker, "time", SimpleNamespace(monotonic=time.monotonic, sleep=starts))
    backend = docker.docker_backend.__wrapped__()
    assert backend is probes[1] and backend.promises and len(wires) == 2
    backend.close()
    wires[1].cut()


def test_an_error_that_is_its_own_context_is_named() -> None:
    """Two checks that shared a run raised its one error again, each while it handled the other's: the search for the
    reason never ended, and held the whole run (one of 27 in which engines were killed)."""
    first, second = ConnectionResetError("gone"), OSError("not there")
    first.__context__, second.__context__ = second, first
    assert "no Docker engine answers: " in unreachable(first).message and [*chain(second)] == [second, first]


def test_it_does_not_wait_for_one_that_never_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker.time, "sleep", lambda seconds: pytest.fail("it waits"))
    for address in (f"unix://{tmp_path}/none.sock", "tcp://127.0.0.1:1"):
        monkeypatch.setenv("DOCKER_HOST", address)
        with pytest.raises(EngineLost, match="no Docker engine answers"):
            docker.docker_backend.__wrapped__()


def test_it_waits_no_longer_than_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(tmp_path / "dead.sock"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/dead.sock")
    monkeypatch.setattr(docker, "AWAY_SECONDS", 0.2)
    monkeypatch.setattr(docker, "AWAY_PAUSE", 0.05)
    with pytest.raises(EngineLost, match="refused"):
        docker.docker_backend.__wrapped__()
