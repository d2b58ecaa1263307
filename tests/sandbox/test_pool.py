"""Admission, leases and what stands ready, on both backends."""

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from selfplay.sandbox import MIB, Backend, Limits, Sandbox, SandboxError, World
from selfplay.sandbox.machine import LimitsTooLarge, fitting, machine
from selfplay.sandbox.pool import Capacity, Pool, PoolClosed, PoolExhausted, Usage

from .attacks import SMALL

TWO = Capacity(memory_bytes=2 * SMALL.memory_bytes, sandboxes=10)


def test_never_more_live_than_there_is_room_for(backend: Backend) -> None:
    live, most, lock = 0, 0, threading.Lock()
    pool = Pool(backend, TWO, wait_seconds=60)

    def life(number: int) -> bytes:
        nonlocal live, most
        with pool.open(World(), SMALL) as sandbox:
            with lock:
                live, most = live + 1, max(most, live + 1)
            said = sandbox.run(f"sleep 0.4; echo {number}", timeout=20).stdout
            with lock:
                live -= 1
        return said

    with contextlib.closing(pool), ThreadPoolExecutor(4) as threads:
        assert list(threads.map(life, range(4))) == [b"%d\n" % number for number in range(4)]
    assert most == 2 and pool.usage() == Usage(0, 0, 0, 0)


def test_waiting_has_a_deadline_and_says_what_to_do(backend: Backend) -> None:
    pool = Pool(backend, Capacity(1 << 40, sandboxes=1), wait_seconds=0.3)
    with contextlib.closing(pool), pool.open(World(), SMALL):
        with (
            pytest.raises(PoolExhausted, match=r"within 0 s: 1 are live(.|\n)*fewer workers"),
            pool.open(World(), SMALL),
        ):
            pass
        assert pool.usage() == Usage(1, 0, 0, SMALL.memory_bytes)


def test_a_sandbox_larger_than_the_machine(backend: Backend) -> None:
    pool = Pool(backend)
    huge = Limits(memory_bytes=machine().memory_bytes + 1)
    for asked in (pool, backend):
        with (
            pytest.raises(LimitsTooLarge, match=r"does not fit into this machine(.|\n)*less"),
            asked.open(World(), huge),
        ):
            pass
    small = Pool(backend, Capacity(SMALL.memory_bytes // 2, sandboxes=1))
    with pytest.raises(LimitsTooLarge, match="does not fit into 128 MiB"), small.open(World(), SMALL):
        pass
    for limits in (Limits(cpus=4096.0), Limits(processes=1 << 40)):
        with pytest.raises(LimitsTooLarge, match="does not fit into this machine"), backend.open(World(), limits):
            pass
    assert fitting(huge).memory_bytes < machine().memory_bytes and fitting(SMALL) == SMALL


@pytest.mark.parametrize(
    "wrong",
    [{"memory_bytes": 0}, {"memory_bytes": -1}, {"disk_bytes": 0}, {"processes": 0}, {"processes": -9}]
    + [{"cpus": value} for value in (0.0, -1.0, float("nan"))]
    + [{"output_bytes": -1}],
)
def test_a_limit_that_would_be_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SandboxError, match=r"cannot be held(.|\n)*The least is"):
        Limits(**wrong)


def test_a_pool_that_is_closed_ends_what_lives_and_what_waits(backend: Backend) -> None:
    pool = Pool(backend, Capacity(1 << 40, sandboxes=1), wait_seconds=60)
    held = pool.lease(World(), SMALL)
    failures: list[SandboxError] = []

    def wait() -> None:
        try:
            pool.lease(World(), SMALL)
        except SandboxError as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while pool.usage().waiting == 0:
        time.sleep(0.01)
    pool.close()
    thread.join(10)
    assert isinstance(failures[0], PoolClosed)
    with pytest.raises(SandboxError, match="closed"):
        held.sandbox.run("true", timeout=5)
    with pytest.raises(PoolClosed, match="is closed"):
        pool.lease(World(), SMALL)


def test_a_pool_that_is_closed_while_a_sandbox_starts(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, live = Pool(backend, TWO), []

    @contextlib.contextmanager
    def closing(world: World, limits: Limits) -> Iterator[Sandbox]:
        with type(backend).open(backend, world, limits) as sandbox:
            live.append(sandbox)
            pool.close()
            yield sandbox

    monkeypatch.setattr(backend, "open", closing)
    with pytest.raises(PoolClosed, match="is closed"):
        pool.warm(World(), SMALL)
    with pytest.raises(SandboxError, match="closed"):
        live[0].run("true", timeout=5)
    assert pool.usage() == Usage(0, 0, 0, 0)


def test_a_lease_outlives_the_episode_by_the_grading_and_no_more(backend: Backend) -> None:
    with contextlib.closing(Pool(backend, TWO)) as pool:
        lease = pool.lease(World(), SMALL, seconds=0.3, grading_seconds=0.7)
        time.sleep(0.4)
        assert lease.sandbox.run("echo graded", timeout=5).stdout == b"graded\n"
        started = time.monotonic()
        with pytest.raises(SandboxError):
            lease.sandbox.run("sleep 20", timeout=30)
        assert time.monotonic() - started < 10
        lease.close()
        assert pool.usage().live == 0


def test_what_stands_ready_is_given_out_once_and_makes_way(backend: Backend) -> None:
    world = World(env={"WARM": "yes"})
    with contextlib.closing(Pool(backend, TWO, wait_seconds=30)) as pool:
        pool.warm(world, SMALL, count=2)
        assert pool.usage() == Usage(2, 2, 0, 2 * SMALL.memory_bytes)
        started = time.monotonic()
        with pool.open(world, SMALL) as sandbox:
            assert time.monotonic() - started < 0.01
            assert sandbox.run("echo $WARM", timeout=5).stdout == b"yes\n"
            assert pool.usage().warm == 1
            with pool.open(World(), SMALL) as other:  # no room but that of the one that stands ready
                assert other.run("echo ${WARM-cold}", timeout=5).stdout == b"cold\n"
                assert pool.usage() == Usage(2, 0, 0, 2 * SMALL.memory_bytes)


def test_a_start_that_fails_takes_no_room(backend: Backend) -> None:
    from pathlib import Path

    pool = Pool(backend, TWO)
    with pytest.raises(SandboxError, match="does not exist"), pool.open(World(tree=(Path("/no/such"),)), SMALL):
        pass
    assert pool.usage() == Usage(0, 0, 0, 0)


def test_capacity_comes_from_the_machine() -> None:
    found = Capacity.of_this_machine(overcommit=1.0)
    assert 0 < found.memory_bytes < machine().memory_bytes
    assert found.sandboxes == 256 * machine().cores
    assert Capacity.of_this_machine(2.0).memory_bytes == pytest.approx(2 * found.memory_bytes, abs=MIB)
