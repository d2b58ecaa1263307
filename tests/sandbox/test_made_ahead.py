"""The child of the launcher that waits for the next request: which sandbox it becomes, and how it ends."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from selfplay.sandbox import Limits, MachineError, SandboxLost, World
from selfplay.sandbox.bubblewrap import BubblewrapBackend

from .attacks import SMALL

SECONDS = 10.0


@pytest.fixture
def own() -> Iterator[BubblewrapBackend]:
    """A backend with a launcher of its own, which has started one sandbox."""
    with contextlib.closing(BubblewrapBackend()) as made:
        with made.open(World(), SMALL):
            pass
        yield made


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert true()


def children(backend: BubblewrapBackend) -> list[int]:
    process = backend._launcher._process
    assert process is not None
    return [int(word) for word in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def has_begun(pid: int) -> bool:
    """Whether this child has done the first half and not become bwrap: it has a shelf, and the host beside it."""
    try:
        mounts = Path(f"/proc/{pid}/mounts").read_text()
    except OSError:  # it is gone, or going
        return False
    return " /shelf/dev/shm " in mounts and " /host " in mounts


def waiting(backend: BubblewrapBackend) -> int:
    """The pid of the child that waits, as soon as it does."""
    until(lambda: any(map(has_begun, children(backend))))
    return next(filter(has_begun, children(backend)))


def works(backend: BubblewrapBackend) -> bool:
    with backend.open(World(), SMALL) as sandbox:
        return sandbox.run("echo alive", timeout=SECONDS).stdout == b"alive\n"


def test_the_child_that_waits_becomes_the_next_sandbox(own: BubblewrapBackend) -> None:
    ahead = waiting(own)
    with own.open(World(), SMALL):
        assert ahead in children(own)
        assert waiting(own) != ahead


def test_limits_are_those_of_the_request_not_of_the_one_before(own: BubblewrapBackend) -> None:
    """A child made ahead knows no limits: its file system gets its size when it is asked for."""
    for size in (32 << 20, 8 << 20, 64 << 20):
        waiting(own)
        limits = Limits(disk_bytes=size, memory_bytes=1 << 28)
        with own.open(World(folders=("/env",)), limits) as sandbox:
            said = sandbox.run("df --output=size,itotal -B1 /env | tail -1", timeout=SECONDS).stdout.split()
            assert [int(word) for word in said] == [size, limits.files]
            assert sandbox.run(
                f"cd /env; for n in 1 2; do head -c {size * 3 // 5} /dev/zero > $n; done", timeout=SECONDS
            ).exit_code


def test_a_child_that_was_killed_is_replaced(own: BubblewrapBackend) -> None:
    for _ in range(5):
        os.kill(waiting(own), signal.SIGKILL)
        assert works(own)


def test_a_start_that_fails_costs_only_itself(own: BubblewrapBackend, tmp_path: Path) -> None:
    """The child that waited is told to show what is gone meanwhile; the next one is none the worse."""
    (tmp_path / "tree").mkdir()
    world = World(tree=(tmp_path / "tree",))
    waiting(own)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("selfplay.sandbox.inside.sources", lambda _: {"tree.0": str(tmp_path / "gone")})
        with pytest.raises(MachineError, match="gone"):
            own.start(world, SMALL)
    assert works(own)


def test_a_child_that_waits_ends_with_its_launcher(own: BubblewrapBackend) -> None:
    ahead, process = waiting(own), own._launcher._process
    assert process is not None
    process.kill()
    until(lambda: not has_begun(ahead))


def test_a_backend_that_closes_leaves_none() -> None:
    backend = BubblewrapBackend()
    with contextlib.closing(backend):
        with backend.open(World(), SMALL):
            pass
        ahead = waiting(backend)
    assert not Path(f"/proc/{ahead}").exists()


def test_a_child_that_waits_holds_nothing_of_another_sandbox(own: BubblewrapBackend) -> None:
    """With the other end of its connection, nobody would see that sandbox die."""
    with own.open(World(), SMALL) as sandbox:
        held = [str(path.readlink()) for path in Path(f"/proc/{waiting(own)}/fd").iterdir()]
        assert len([name for name in held if name.startswith("socket:")]) == 1
        assert not [name for name in held if "cgroup" in name]
        os.kill(sandbox.hello.pid, signal.SIGKILL)
        with pytest.raises(SandboxLost, match="the sandbox died"):
            sandbox.run("true", timeout=SECONDS)
