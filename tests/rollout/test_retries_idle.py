"""Who is to blame for a lost sandbox: a job is set aside only where an idle sandbox lives."""

import asyncio
from collections import Counter

import pytest
from killing import Killing, kill_inside, running
from rollout.lost_jobs import Play, aside, dies, lives, no_pauses, played

from selfplay.rollout import retries
from selfplay.rollout.retries import ALONE, TRIES, JobState, Retries, idle_check_in
from selfplay.sandbox import Backend, SandboxLost, World
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers

__all__ = ["no_pauses"]


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
