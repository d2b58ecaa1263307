"""What never answers, an agent or a launcher that is stopped, ends within bounds as a lost sandbox; work goes on."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import hand_made
import pytest
from killing import Killing, running

from selfplay.sandbox import Backend, Cause, SandboxLost, World, launching, live
from selfplay.workbench import Workbench


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "GRACE_SECONDS", 1.0)
    monkeypatch.setattr(launching, "START_SECONDS", 2.0)


def stop_agent(sandbox: Any) -> None:
    os.kill(sandbox.hello.pid, signal.SIGSTOP)


@pytest.mark.slow
def test_a_stopped_agent_is_a_lost_sandbox(backend: Backend, worlds: dict[str, World]) -> None:
    killing = Killing(backend, running("test_script.sh"), stop_agent)
    bench = Workbench(killing, worlds["python"], hand_made.artifact("python"), time_limit=3.0)  # type: ignore[arg-type]
    started = time.monotonic()
    with pytest.raises(SandboxLost, match="did not answer within 4 s") as lost:
        bench.run()
    assert lost.value.cause == Cause.UNKNOWN and time.monotonic() - started < 30
    again = Workbench(killing, worlds["python"], hand_made.artifact("python"))  # type: ignore[arg-type]
    assert again.run().failed_at is None


@pytest.fixture
def own_backend() -> Iterator[Any]:
    """A backend with a launcher of its own."""
    from selfplay.sandbox.bubblewrap import BubblewrapBackend

    opened = BubblewrapBackend()
    yield opened
    opened.close()


@pytest.mark.slow
def test_a_stopped_launcher_is_replaced(own_backend: Any) -> None:
    with own_backend.open(World()) as sandbox:
        assert sandbox.run("true", timeout=20).exit_code == 0
    os.kill(own_backend._launcher._process.pid, signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(SandboxLost, match="did not start within 2 s"), own_backend.open(World()):
        pass
    with own_backend.open(World()) as sandbox:
        assert sandbox.run("echo on", timeout=20).stdout == b"on\n"
    assert time.monotonic() - started < 30


@pytest.mark.slow
def test_a_stopped_launcher_does_not_keep_the_end_of_a_run(own_backend: Any) -> None:
    with own_backend.open(World()):
        os.kill(own_backend._launcher._process.pid, signal.SIGSTOP)
        started = time.monotonic()
        own_backend.close()
    assert time.monotonic() - started < 30
