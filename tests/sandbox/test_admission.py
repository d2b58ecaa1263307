"""Admission, on both backends: seats are awaited in order, a lease holds one sandbox at a time, nothing outlives it."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from selfplay.sandbox import MIB, Backend, Limits, Sandbox, SandboxError, World
from selfplay.sandbox.admission import Capacity, LeaseClosed, PoolUsage, SandboxPool
from selfplay.sandbox.machine import LimitsTooLarge, fitting, machine
from selfplay.sandbox.workers import Workers

from .attacks import SMALL

TWO = Capacity(memory_bytes=2 * SMALL.memory_bytes, sandboxes=10)
NOTHING = PoolUsage(0, 0, 0)


@pytest.mark.slow
def test_never_more_live_than_there_is_room_for(backend: Backend) -> None:
    live, most, lock = 0, 0, threading.Lock()

    def life(lease: Backend, number: int) -> bytes:
        nonlocal live, most
        with lease.open(World(), SMALL) as sandbox:
            with lock:
                live, most = live + 1, max(most, live + 1)
            said = sandbox.run(f"sleep 0.4; echo {number}", timeout=20).stdout
            with lock:
                live -= 1
        return said

    async def main() -> None:
        pool = SandboxPool(backend, TWO)
        with Workers(4) as workers:

            async def one(number: int) -> bytes:
                async with pool.lease(SMALL) as lease:
                    return await workers.run(life, lease, number)

            said = await asyncio.gather(*(one(number) for number in range(4)))
        assert said == [b"%d\n" % number for number in range(4)]
        assert pool.usage() == NOTHING

    asyncio.run(main())
    assert most == 2


def test_more_episodes_than_seats_and_threads_do_not_stand_still(backend: Backend) -> None:
    """Eight episodes, each of which needs a second sandbox after its own, on four seats and two threads: with admission
    waited for in the threads, as it once was, the two that wait for a seat hold the threads that the others need."""

    def first(sandbox: Sandbox) -> bytes:
        return sandbox.run("echo 1", timeout=20).stdout

    def second(lease: Backend) -> bytes:
        with lease.open(World(), SMALL) as sandbox:
            return sandbox.run("echo 2", timeout=20).stdout

    async def main() -> list[bytes]:
        pool = SandboxPool(backend, Capacity(4 * SMALL.memory_bytes, sandboxes=4))
        with Workers(2) as workers:

            async def episode() -> bytes:
                async with pool.lease(SMALL) as lease:
                    async with workers.entered(lease.open(World(), SMALL)) as sandbox:
                        said = await workers.run(first, sandbox)
                        await asyncio.sleep(0.05)  # a model thinks
                    return said + await workers.run(second, lease)

            async with asyncio.timeout(60):
                return await asyncio.gather(*(episode() for _ in range(8)))

    assert asyncio.run(main()) == [b"1\n2\n"] * 8


def test_seats_are_given_in_the_order_of_asking(backend: Backend) -> None:
    """A large one that waits is not passed by small ones that would fit."""
    given: list[str] = []

    async def main() -> None:
        pool = SandboxPool(backend, TWO)

        async def ask(name: str, limits: Limits) -> None:
            async with pool.lease(limits):
                given.append(name)

        async with pool.lease(SMALL):
            large = Limits(memory_bytes=2 * SMALL.memory_bytes)
            asked = [asyncio.create_task(ask("large", large)), asyncio.create_task(ask("small", SMALL))]
            await asyncio.sleep(0.05)
            assert given == [] and pool.usage() == PoolUsage(1, 2, SMALL.memory_bytes)
        await asyncio.gather(*asked)
        assert pool.usage() == NOTHING

    asyncio.run(main())
    assert given == ["large", "small"]


def test_who_stops_waiting_leaves_the_queue(backend: Backend) -> None:
    async def main() -> None:
        pool = SandboxPool(backend, Capacity(1 << 40, sandboxes=1))
        async with pool.lease(SMALL):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05), pool.lease(SMALL):
                    pass
            assert pool.usage() == PoolUsage(1, 0, SMALL.memory_bytes)
        async with pool.lease(SMALL):  # the seat is not lost
            assert pool.usage().leases == 1

    asyncio.run(main())


def test_a_lease_holds_one_sandbox_at_a_time_and_a_closed_one_makes_room(backend: Backend) -> None:
    async def main() -> None:
        async with SandboxPool(backend, TWO).lease(SMALL) as lease:
            with lease.open(World(), SMALL) as sandbox:
                with pytest.raises(SandboxError, match="one sandbox at a time"), lease.open(World(), SMALL):
                    pass
                sandbox.close()
                with lease.open(World(), SMALL) as other:
                    assert other.run("echo here", timeout=10).stdout == b"here\n"
            with pytest.raises(SandboxError, match="larger than its lease"), lease.open(World()):
                pass
        with pytest.raises(LeaseClosed, match="has ended"), lease.open(World(), SMALL):
            pass

    asyncio.run(main())


def test_leaving_a_lease_ends_a_command_that_runs_in_it(backend: Backend) -> None:
    async def main() -> None:
        pool = SandboxPool(backend, TWO)
        with Workers(1) as workers:
            async with pool.lease(SMALL) as lease:
                opened = lease.open(World(), SMALL)
                sandbox = opened.__enter__()
                running = asyncio.create_task(workers.run(sandbox.run, "sleep 60", timeout=90))
                await asyncio.sleep(0.2)
                assert not lease.idle and not running.done()
            started = time.monotonic()
            with pytest.raises(SandboxError):
                await running
            assert time.monotonic() - started < 20
            opened.__exit__(None, None, None)
        assert pool.usage() == NOTHING

    asyncio.run(main())


def test_a_cancelled_episode_gives_its_seat_back_though_all_threads_are_busy(backend: Backend) -> None:
    async def main() -> None:
        pool = SandboxPool(backend, TWO)
        with Workers(1) as workers:

            async def episode() -> None:
                async with pool.lease(SMALL) as lease, workers.entered(lease.open(World(), SMALL)) as sandbox:
                    await workers.run(sandbox.run, "sleep 60", timeout=90)

            task = asyncio.create_task(episode())
            while pool.usage().leases == 0:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.3)
            task.cancel()
            async with asyncio.timeout(20):
                with pytest.raises(asyncio.CancelledError):
                    await task
        assert pool.usage() == NOTHING

    asyncio.run(main())


def test_a_lease_that_ends_while_a_sandbox_starts(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    live: list[Sandbox] = []

    async def main() -> None:
        async with SandboxPool(backend, TWO).lease(SMALL) as lease:

            @contextlib.contextmanager
            def ending(world: World, limits: Limits) -> Iterator[Sandbox]:
                with type(backend).open(backend, world, limits) as sandbox:
                    live.append(sandbox)
                    lease.close()
                    yield sandbox

            monkeypatch.setattr(backend, "open", ending)
            with pytest.raises(LeaseClosed, match="has ended"), lease.open(World(), SMALL):
                pass

    asyncio.run(main())
    with pytest.raises(SandboxError, match="closed"):
        live[0].run("true", timeout=5)


def test_a_sandbox_larger_than_the_machine(backend: Backend) -> None:
    huge = Limits(memory_bytes=machine().memory_bytes + 1)

    async def lease(pool: SandboxPool, limits: Limits) -> None:
        async with pool.lease(limits):
            pass

    with pytest.raises(LimitsTooLarge, match=r"exceeds this machine(.|\n)*less"):
        asyncio.run(lease(SandboxPool(backend), huge))
    with pytest.raises(LimitsTooLarge, match="does not fit into 128 MiB"):
        asyncio.run(lease(SandboxPool(backend, Capacity(SMALL.memory_bytes // 2, sandboxes=1)), SMALL))
    for limits in (huge, Limits(cpus=4096.0), Limits(processes=1 << 40)):
        with pytest.raises(LimitsTooLarge, match="exceeds this machine"), backend.open(World(), limits):
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


def test_a_start_that_fails_takes_no_seat(backend: Backend) -> None:
    async def main() -> None:
        pool = SandboxPool(backend, TWO)
        async with pool.lease(SMALL) as lease:
            with (
                pytest.raises(SandboxError, match="does not exist"),
                lease.open(World(tree=(Path("/no/such"),)), SMALL),
            ):
                pass
            with lease.open(World(), SMALL) as sandbox:
                assert sandbox.run("true", timeout=5).exit_code == 0
        assert pool.usage() == NOTHING

    asyncio.run(main())


def test_capacity_comes_from_the_machine() -> None:
    found = Capacity.of_this_machine(overcommit=1.0)
    assert 0 < found.memory_bytes < machine().memory_bytes
    assert found.sandboxes == 256 * machine().cores
    assert Capacity.of_this_machine(2.0).memory_bytes == pytest.approx(2 * found.memory_bytes, abs=MIB)
