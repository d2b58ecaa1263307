"""An engine that stops answering: a wire to the real one, which can be cut."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfplay.sandbox import World
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.docker.client import EngineUnavailable

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
