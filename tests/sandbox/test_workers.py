"""Which work the threads do next, and that no thread is lost to work that is cancelled."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator

import pytest

from selfplay.sandbox.workers import Workers


def test_what_has_begun_goes_before_what_begins() -> None:
    """Twenty episodes of three calls on one thread: in order of arrival all twenty would be open before the first call.
    A few more than the thread's own are, while the loop has not come to ask for those that were just served."""
    opened = most = 0

    @contextlib.contextmanager
    def place() -> Iterator[None]:
        nonlocal opened, most
        time.sleep(0.005)
        opened += 1
        most = max(most, opened)
        yield
        opened -= 1

    async def main() -> None:
        with Workers(1) as workers:

            async def episode() -> None:
                async with workers.entered(place()):
                    for _ in range(3):
                        await workers.run(time.sleep, 0.005)

            await asyncio.gather(*(episode() for _ in range(20)))

    asyncio.run(main())
    assert most <= 6 and opened == 0


def test_what_is_cancelled_while_it_waits_is_not_called() -> None:
    async def main() -> None:
        with Workers(1) as workers:
            go, called = threading.Event(), threading.Event()
            running = asyncio.create_task(workers.run(go.wait, 20))
            waits = asyncio.create_task(workers.run(called.set))
            last = asyncio.create_task(workers.run(lambda: "done"))
            await asyncio.sleep(0)
            waits.cancel()
            await asyncio.sleep(0)
            go.set()
            assert await asyncio.wait_for(last, 20) == "done" and await running
            assert waits.cancelled() and not called.is_set()

    asyncio.run(main())


def test_an_error_of_a_call_is_raised_where_it_is_awaited() -> None:
    def fails() -> None:
        raise ValueError("no")

    async def main() -> None:
        with Workers(1) as workers:
            with pytest.raises(ValueError, match="no"):
                await workers.run(fails)
            assert await workers.run(lambda: 1) == 1

    asyncio.run(main())


def test_a_started_call_that_is_cancelled_keeps_its_thread_until_it_ends() -> None:
    order: list[str] = []

    async def main() -> None:
        with Workers(1) as workers:
            begun, go = threading.Event(), threading.Event()

            def slow() -> None:
                begun.set()
                go.wait(20)
                order.append("slow")

            running = asyncio.create_task(workers.run(slow))
            await asyncio.to_thread(begun.wait, 20)
            running.cancel()
            other = asyncio.create_task(workers.run(order.append, "other"))
            await asyncio.sleep(0.05)
            assert not order
            go.set()
            await other

    asyncio.run(main())
    assert order == ["slow", "other"]


def test_what_waits_when_the_threads_end_is_dropped() -> None:
    async def main() -> None:
        go = threading.Event()
        with Workers(1) as workers:
            running = asyncio.create_task(workers.run(go.wait, 20))
            waits = asyncio.create_task(workers.run(lambda: None))
            await asyncio.sleep(0.05)
            go.set()
        assert await running
        with pytest.raises(asyncio.CancelledError):
            await waits

    asyncio.run(main())
