"""Many jobs at once: results as they come, what was not played is played again, stopping leaves nothing running."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import pytest

from selfplay.rollout.retries import UNANSWERED, Retries
from selfplay.rollout.scheduler import COLLECT, ModelDown, RolloutError, each_of, many, relaxed_gc
from selfplay.sandbox import InsideError, MachineError, retry
from selfplay.sandbox.retry import LOST_SANDBOXES


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "PAUSE", 0.0)


def played(jobs: list[int], play: Callable[[int], object], places: int = 2) -> list[tuple[int, object]]:
    async def main() -> list[tuple[int, object]]:
        async def one(job: int) -> object:
            await asyncio.sleep(0)
            return play(job)

        async with aclosing(many(each_of(jobs), one, places)) as results:
            return [found async for found in results]

    return asyncio.run(main())


def test_every_job_gives_one_result() -> None:
    assert sorted(played(list(range(7)), lambda job: job * job)) == [(job, job * job) for job in range(7)]


@pytest.mark.parametrize("error", [MachineError("gone"), ModelDown("no answer")])
def test_what_could_not_be_played_is_played_again(error: Exception) -> None:
    tries: list[int] = []

    def play(job: int) -> str:
        tries.append(job)
        if tries.count(job) < 3:
            raise error
        return "done"

    assert sorted(played([1, 2], play)) == [(1, "done"), (2, "done")]  # four failures in a row: fewer than end it
    assert tries.count(1) == tries.count(2) == 3


@pytest.mark.parametrize(
    ("error", "most", "said"),
    [
        (MachineError("no room"), LOST_SANDBOXES, f"{LOST_SANDBOXES} sandboxes in a row failed: no room"),
        (ModelDown("no answer"), UNANSWERED, f"the model failed in {UNANSWERED} episodes in a row: no answer"),
    ],
)
def test_too_many_in_a_row_end_it_with_the_reason(error: Exception, most: int, said: str) -> None:
    tries: list[int] = []

    def play(job: int) -> None:
        tries.append(job)
        raise error

    with pytest.raises(RolloutError, match=said):
        played(list(range(20)), play, places=1)
    assert len(tries) == most


def test_what_fails_through_what_is_inside_is_set_aside_at_once() -> None:
    """It would fail again, and says nothing of the machine: sixteen in a row end nothing."""
    tries: list[int] = []

    async def play(job: int) -> str:
        tries.append(job)
        raise InsideError("its disk is full")

    async def main(rules: Retries[int, str]) -> list[tuple[int, str]]:
        async with aclosing(many(each_of(range(16)), play, 2, rules)) as results:
            return [found async for found in results]

    found = asyncio.run(main(Retries(lambda job, error: f"{job}: {error.message}")))
    assert sorted(found) == sorted((job, f"{job}: its disk is full") for job in range(16))
    assert sorted(tries) == list(range(16))
    with pytest.raises(InsideError):
        asyncio.run(main(Retries()))


def test_a_result_between_two_failures_starts_the_count_anew() -> None:
    tries: list[int] = []

    def play(job: int) -> str:
        tries.append(job)
        if len(tries) % 2:  # every other try fails, far more often than would end it in a row
            raise MachineError("gone")
        return "done"

    assert len(played(list(range(12)), play, places=1)) == 12


def test_leaving_early_cancels_what_runs_and_waits_for_it() -> None:
    ended: list[int] = []

    async def main() -> None:
        async def play(job: int) -> int:
            try:
                await asyncio.sleep(0 if job == 0 else 60)
            finally:
                await asyncio.sleep(0.01)  # as an episode that closes its sandbox
                ended.append(job)
            return job

        async with aclosing(many(each_of(range(4)), play, 4)) as results:
            async for job, _ in results:
                assert job == 0
                break
        assert sorted(ended) == [0, 1, 2, 3]

    asyncio.run(asyncio.wait_for(main(), 20))


def test_an_error_of_a_job_ends_the_others_and_is_raised() -> None:
    def play(job: int) -> None:
        if job == 1:
            raise KeyError("unforeseen")

    with pytest.raises(KeyError, match="unforeseen"):
        played([0, 1, 2], play)


def test_never_more_at_once_than_places() -> None:
    live = most = 0

    async def main() -> None:
        async def play(job: int) -> None:
            nonlocal live, most
            live, most = live + 1, max(most, live + 1)
            await asyncio.sleep(0.001)
            live -= 1

        async with aclosing(many(each_of(range(20)), play, 3)) as results:
            assert len([found async for found in results]) == 20

    asyncio.run(main())
    assert most == 3


def test_the_collector_runs_seldom_while_episodes_play_and_as_before_after_it() -> None:
    import gc

    before = gc.get_threshold()
    with pytest.raises(KeyboardInterrupt), relaxed_gc():
        assert gc.get_threshold() == COLLECT
        raise KeyboardInterrupt
    assert gc.get_threshold() == before
