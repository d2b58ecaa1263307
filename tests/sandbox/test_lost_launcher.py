"""A launcher that is killed while sandboxes start: it is replaced, or the start ends in a typed error."""

import contextlib
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from selfplay.sandbox import Cause, SandboxLost, World
from selfplay.sandbox.bubblewrap import BubblewrapBackend

from .attacks import SMALL

pytestmark = [pytest.mark.slow, pytest.mark.alone]  # looks at what is left on the machine


@pytest.fixture
def own() -> Iterator[BubblewrapBackend]:
    """A backend whose launcher may be killed."""
    with contextlib.closing(BubblewrapBackend()) as made:
        yield made


def kill_launcher(backend: BubblewrapBackend) -> None:
    process = backend._launcher._process
    if process is not None:
        process.kill()


def test_a_launcher_killed_while_sandboxes_start_is_replaced(own: BubblewrapBackend) -> None:
    """Killed once for each start, at a random moment of it: every start succeeds, by the second launcher if not by the
    first."""
    chance = random.Random(11)
    with own.open(World(), SMALL):
        pass
    for _ in range(40):
        with ThreadPoolExecutor(1) as threads:
            starting = threads.submit(own.start, World(), SMALL)
            time.sleep(chance.uniform(0, 0.015))
            kill_launcher(own)
            sandbox = starting.result(30)
        try:
            assert sandbox.run("echo alive", timeout=10).stdout == b"alive\n"
        except SandboxLost:
            pass  # it had already started, and its launcher died after it
        finally:
            sandbox.close()


def test_starts_under_a_launcher_that_keeps_dying_end_typed(own: BubblewrapBackend) -> None:
    over, chance = threading.Event(), random.Random(12)

    def kills() -> None:
        while not over.wait(chance.uniform(0, 0.03)):
            kill_launcher(own)

    def start(_: int) -> str:
        try:
            own.start(World(), SMALL).close()
        except SandboxLost as lost:
            return lost.cause
        return "started"

    thread = threading.Thread(target=kills)
    thread.start()
    try:
        with ThreadPoolExecutor(3) as threads:
            ends = list(threads.map(start, range(30)))
    finally:
        over.set()
        thread.join()
    assert set(ends) <= {"started", Cause.OUTSIDE, Cause.UNKNOWN}
    with own.open(World(), SMALL) as sandbox:
        assert sandbox.run("echo alive", timeout=10).stdout == b"alive\n"
