"""Who gets a free place at a host: the lowest step, then who came first."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from selfplay.cluster.seats import EpisodeSlots


def test_the_lowest_step_comes_first() -> None:
    async def played() -> list[tuple[int, int]]:
        seats, order = EpisodeSlots(1, 1), list[tuple[int, int]]()

        async def episode(step: int, number: int) -> None:
            async with seats.taken(step):
                order.append((step, number))
                await asyncio.sleep(0)

        await asyncio.gather(*(episode(*one) for one in [(0, 0), (2, 0), (1, 0), (2, 1), (1, 1), (0, 1)]))
        return order

    assert asyncio.run(played()) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]


def test_a_bug_goes_home_while_there_is_a_place() -> None:
    async def played() -> list[int]:
        seats = EpisodeSlots(2, 1)
        async with seats.taken(0, home=lambda: 1) as first, seats.taken(0, home=lambda: 1) as second:
            return [first, second]

    assert asyncio.run(played()) == [1, 0]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.booleans()), max_size=24), st.integers(1, 3))
def test_nobody_waits_for_ever(episodes: list[tuple[int, int, bool]], hosts: int) -> None:
    """Whatever is cancelled, and when: all others are played, never more at a host than it has places."""

    async def played() -> None:
        seats, at, done = EpisodeSlots(hosts, 2), [0] * hosts, list[int]()

        async def episode(number: int, step: int, turns: int) -> None:
            async with seats.taken(step) as host:
                at[host] += 1
                assert at[host] <= 2
                for _ in range(turns):
                    await asyncio.sleep(0)
                at[host] -= 1
                done.append(number)

        tasks = [asyncio.create_task(episode(n, step, turns)) for n, (step, turns, _) in enumerate(episodes)]
        await asyncio.sleep(0)
        kept = []
        for task, (_, _, stopped) in zip(tasks, episodes, strict=True):
            if stopped:
                task.cancel()
            else:
                kept.append(task)
            await asyncio.sleep(0)
        async with asyncio.timeout(20):
            await asyncio.gather(*tasks, return_exceptions=True)
        assert all(task.done() and not task.cancelled() for task in kept)

    asyncio.run(played())


def test_nobody_sits_down_at_a_host_that_is_away() -> None:
    async def played() -> list[int]:
        seats, found = EpisodeSlots(2, 1), list[int]()
        seats.away = {0, 1}

        async def episode() -> None:
            async with seats.taken(0, home=lambda: 0) as host:
                found.append(host)

        waiting = [asyncio.create_task(episode()) for _ in range(2)]
        await asyncio.sleep(0)
        assert not found
        seats.back(1)
        await asyncio.gather(*waiting)
        return found

    assert asyncio.run(played()) == [1, 1]


def test_when_no_host_comes_back_all_who_wait_are_told() -> None:
    async def played() -> list[object]:
        seats = EpisodeSlots(1, 1)
        seats.away = {0}

        async def episode() -> None:
            async with seats.taken(0):
                raise AssertionError("there is no place")

        waiting = [asyncio.create_task(episode()) for _ in range(3)]
        await asyncio.sleep(0)
        seats.fail(ValueError("the host is gone"))
        return list(await asyncio.gather(*waiting, episode(), return_exceptions=True))

    assert [str(error) for error in asyncio.run(played())] == ["the host is gone"] * 4
