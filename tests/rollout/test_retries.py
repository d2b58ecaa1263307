"""The rules about lost sandboxes: played again, counted together, a pause, an end, and jobs that are set aside."""

import asyncio
import time
from collections import Counter
from contextlib import aclosing

import pytest
from rollout.lost_jobs import aside, dies, lives, losing, no_pauses, played

from selfplay.rollout.retries import ALONE, SET_ASIDE, TRIES, Retries
from selfplay.rollout.scheduler import RolloutError, many
from selfplay.sandbox import Cause, MachineError, SandboxLost, WorldRefused, retry
from selfplay.sandbox.retry import LIMITS, LOST_SANDBOXES

__all__ = ["no_pauses"]


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
    found = played(3, losing({1}, WorldRefused("refused"), Counter()), 2, Retries(aside, lives))
    assert found == {0: "done", 1: "could not be played: refused", 2: "done"}


def test_no_job_is_set_aside_for_what_the_machine_lacks() -> None:
    """A disk that was full for a minute set attempts aside for good: idle sandboxes, which need none of it, lived."""
    tries: Counter[int] = Counter()
    with pytest.raises(RolloutError, match=f"{LOST_SANDBOXES} sandboxes in a row failed: No space left"):
        played(3, losing({0, 1, 2}, MachineError("No space left on device"), tries), 1, Retries(aside, lives))
    assert sum(tries.values()) == LOST_SANDBOXES


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


@pytest.mark.parametrize("places", [1, 30])
def test_any_number_of_verdicts_in_a_row_ends_no_run(places: int) -> None:
    """A policy that makes each of its attempts meet a limit loses each of them: it does not get them played again by
    the next run for ever, and the machine is not to blame."""
    jobs, tries = 3 * SET_ASIDE, Counter[int]()
    error = SandboxLost("too much memory", cause=Cause.LIMIT)
    found = played(jobs, losing(set(range(jobs)), error, tries), places, Retries(aside, dies))
    assert found == dict.fromkeys(range(jobs), "could not be played: too much memory")
    assert set(tries.values()) == {LIMITS}


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
