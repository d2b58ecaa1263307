"""The rules about lost sandboxes: played again, counted together, a pause, an end, and jobs that are set aside."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest
from killing import Killing, kill_inside, running

from selfplay.errors import SelfplayError
from selfplay.rollout import retries
from selfplay.rollout.retries import (
    ALONE,
    SET_ASIDE,
    TRIES,
    JobState,
    Retries,
    idle_check_in,
)
from selfplay.rollout.scheduler import RolloutError, each_of, many
from selfplay.sandbox import Backend, Cause, SandboxError, SandboxLost, World, retry
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.retry import LIMITS, LOST_SANDBOXES
from selfplay.sandbox.workers import Workers

Play = Callable[[int], Awaitable[str]]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "PAUSE", 0.0)


def aside(job: int, error: SelfplayError) -> str:
    return f"could not be played: {error.message}"


async def lives(seconds: float) -> None:
    """The idle check of a machine whose sandboxes live."""


async def dies(seconds: float) -> None:
    raise SandboxLost("died too")


def played(jobs: int, play: Play, places: int, rules: Retries[int, str]) -> dict[int, str]:
    async def main() -> dict[int, str]:
        async with aclosing(many(each_of(range(jobs)), play, places, rules)) as results:
            return {job: found async for job, found in results}

    return asyncio.run(asyncio.wait_for(main(), 30))


def losing(bad: set[int], error: SandboxError, tries: Counter[int]) -> Play:
    """Jobs of which the bad ones lose their sandbox every time."""

    async def play(job: int) -> str:
        await asyncio.sleep(0)
        tries[job] += 1
        if job in bad:
            raise error
        return "done"

    return play


def test_jobs_that_were_lost_together_are_one_loss() -> None:
    """A launcher that dies takes all sandboxes along; on the code before, five of them ended the run."""
    tries: Counter[int] = Counter()
    told: list[str] = []

    async def play(job: int) -> str:
        tries[job] += 1
        await asyncio.sleep(0.01)
        if tries[job] == 1:
            raise SandboxLost("the launcher died", cause=Cause.OUTSIDE)
        return "done"

    rules: Retries[int, str] = Retries(played_again=lambda error: told.append(error.message))
    assert played(64, play, 64, rules) == dict.fromkeys(range(64), "done")
    assert told == ["the launcher died"] * 64


@pytest.mark.parametrize("places", [1, 2, 8])
def test_a_job_that_loses_its_sandbox_by_itself_is_set_aside_and_the_others_go_on(places: int) -> None:
    """On the code before, it was tried until the others were done, and then ended the run."""
    tries: Counter[int] = Counter()
    found = played(12, losing({3, 7}, SandboxLost("died"), tries), places, Retries(aside, lives))
    assert found == {job: "could not be played: died" if job in (3, 7) else "done" for job in range(12)}
    assert tries[3] == tries[7] == TRIES + ALONE


def test_so_is_one_that_a_living_sandbox_refuses_every_time() -> None:
    found = played(3, losing({1}, SandboxError("refused"), Counter()), 2, Retries(aside, lives))
    assert found == {0: "done", 1: "could not be played: refused", 2: "done"}


@pytest.mark.parametrize("bad", [{0}, {0, 1, 2}])
def test_the_last_ones_are_set_aside_when_sandboxes_live(bad: set[int]) -> None:
    """Nothing else finishes, so a sandbox in which nothing happens has to show that the machine is sound."""
    assert set(played(len(bad), losing(bad, SandboxLost("died"), Counter()), 1, Retries(aside, lives))) == bad


@pytest.mark.parametrize("places", [1, 4])
def test_a_machine_that_loses_every_sandbox_ends_the_run_and_sets_nobody_aside(places: int) -> None:
    tries: Counter[int] = Counter()
    with pytest.raises(RolloutError, match=f"{LOST_SANDBOXES} sandboxes in a row failed: died"):
        played(50, losing(set(range(50)), SandboxLost("died"), tries), places, Retries(aside, dies))
    assert sum(tries.values()) <= LOST_SANDBOXES * places


def test_a_machine_that_loses_all_but_the_idle_ones_does_too() -> None:
    """As one that has too little memory: nothing of it may be remembered as the jobs' doing."""
    with pytest.raises(RolloutError, match=f"{SET_ASIDE} jobs in a row could not be played: died"):
        played(50, losing(set(range(50)), SandboxLost("died"), Counter()), 1, Retries(aside, lives))


def test_a_limit_that_is_met_again_needs_no_other_evidence() -> None:
    tries: Counter[int] = Counter()
    error = SandboxLost("too much memory", cause=Cause.LIMIT)
    assert played(1, losing({0}, error, tries), 1, Retries(aside, dies)) == {0: "could not be played: too much memory"}
    assert tries[0] == LIMITS


def test_one_set_aside_at_the_end_makes_room_for_another() -> None:
    """A run that wants three results takes a fourth job for the one that gave none."""
    given: list[int] = []
    done: list[int] = []

    def following(running: int) -> int | None:
        if len(done) + running >= 3:
            return None
        given.append(len(given))
        return given[-1]

    async def main() -> None:
        rules = Retries(aside, lives)
        async with aclosing(many(following, losing({2}, SandboxLost("died"), Counter()), 2, rules)) as results:
            async for job, found in results:
                if found == "done":
                    done.append(job)

    asyncio.run(asyncio.wait_for(main(), 30))
    assert done == [0, 1, 3]


def test_nothing_starts_in_a_pause_and_what_runs_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "PAUSE", 0.4)
    starts: list[float] = []

    async def play(job: int) -> str:
        if job == 0:
            starts.append(time.monotonic())
            if len(starts) < 3:
                raise SandboxLost("died")
        return "done"

    assert played(1, play, 1, Retries(aside, lives)) == {0: "done"}
    first, second, third = starts
    assert second - first < 0.3 and third - second >= 0.4


def test_the_idle_sandbox_is_a_real_one(backend: Backend) -> None:
    async def main() -> None:
        with Workers(1) as workers:
            await idle_check_in(SandboxPool(backend), workers)(0.05)

    asyncio.run(main())
    with backend.open(World()) as sandbox:
        assert sandbox.run("true", timeout=5).exit_code == 0


def test_an_idle_sandbox_in_which_a_program_is_killed_has_not_lived(backend: Backend) -> None:
    async def main() -> None:
        with Workers(1) as workers:
            await idle_check_in(SandboxPool(Killing(backend, running("sleep"), kill_inside)), workers)(30.0)  # type: ignore[arg-type]

    with pytest.raises(SandboxLost, match="an idle program was killed too"):
        asyncio.run(main())


def lost_at_first(times: int, tries: Counter[int]) -> Play:
    """Job 0 loses its sandbox so many times, as of others' doing; the rest finish."""

    async def play(job: int) -> str:
        await asyncio.sleep(0)
        tries[job] += 1
        if job == 0 and tries[0] <= times:
            raise SandboxLost("died")
        return "done"

    return play


def test_a_long_job_where_somebody_kills_is_not_to_blame_though_others_finish() -> None:
    """Each time that it is played alone an idle sandbox dies as well. The code before set it aside, for good."""
    tries: Counter[int] = Counter()
    rules = Retries(aside, dies)
    assert played(5, lost_at_first(TRIES + ALONE, tries), 2, rules) == dict.fromkeys(range(5), "done")
    assert tries[0] == TRIES + ALONE + 1


def test_a_job_is_to_blame_only_when_it_is_lost_after_an_idle_sandbox_lived() -> None:
    """Kills that stop: the last one hit the job, the idle sandbox lives, and so does the job when it is played once
    more. The idle sandboxes that die begin the count anew."""
    tries: Counter[int] = Counter()
    alive = iter([True] * (ALONE - 1) + [False] + [True] * (ALONE - 1))

    async def idle_check(seconds: float) -> None:
        if not next(alive):
            raise SandboxLost("died too")

    lost = TRIES + 2 * ALONE - 1
    assert played(5, lost_at_first(lost, tries), 2, Retries(aside, idle_check)) == dict.fromkeys(range(5), "done")
    assert tries[0] == lost + 1 and next(alive, None) is None


def test_the_idle_sandbox_lives_longer_than_the_job_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as long, within bounds: one of two seconds says nothing of a job of a minute."""
    clock, asked = [0.0], []
    monkeypatch.setattr(retries.time, "monotonic", lambda: clock[0])

    async def idle_check(seconds: float) -> None:
        asked.append(seconds)

    async def main() -> None:
        for lived in (10.0, 0.1, 1000.0):
            entry, rules = JobState("job", lost=TRIES), Retries(lambda job, error: "aside", idle_check)
            rules.begin(entry)
            clock[0] += lived
            assert await rules.failed(entry, SandboxLost("died"))

    asyncio.run(main())
    assert asked == [pytest.approx(20.0), retries.LEAST_IDLE, retries.LONGEST_IDLE]


def test_a_job_that_was_only_ever_lost_with_others_is_not_to_blame() -> None:
    """As one of a run whose launcher is killed again and again, while short jobs between finish."""
    tries: Counter[int] = Counter()

    async def play(job: int) -> str:
        tries[job] += 1
        await asyncio.sleep(0.02 if job < 2 else 0.001)
        if job < 2 and tries[job] <= TRIES:
            raise SandboxLost("died")  # both at once
        return "done"

    assert played(40, play, 3, Retries(aside, lives)) == dict.fromkeys(range(40), "done")
    assert tries[0] == tries[1] == TRIES + 1
