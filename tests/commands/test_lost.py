"""Whole commands while somebody kills: what a lost sandbox said about a bug or an attempt is said of nobody."""

import random
import threading
import traceback
from pathlib import Path

import pytest
from copied_runs import copy_of
from killing import Choice, Killing, running
from run_fixtures import Done

from selfplay.api import Quiet
from selfplay.artifact import load
from selfplay.commands import attempts, injections
from selfplay.commands.curriculum import run_curriculum
from selfplay.commands.order import Order
from selfplay.commands.solve import SolveOrder, run_solve
from selfplay.commands.validate import revalidate
from selfplay.curriculum import read_pool
from selfplay.curriculum.calibrations import CALIBRATION_FILE
from selfplay.report.run import lost_lines
from selfplay.rollout import retries
from selfplay.rollout.controls import Control
from selfplay.rollout.injector import InjectorRun
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.rollout import InjectorRollout
from selfplay.rollout.solver import SolverRun
from selfplay.sandbox import Backend, SandboxLost, retry
from selfplay.sandbox.retry import StillLost


@pytest.fixture(autouse=True)
def this_cache(selfplay: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SELFPLAY_CACHE", str(selfplay.cache))  # type: ignore[attr-defined]
    monkeypatch.setattr(retry, "PAUSE", 0.01)


@pytest.fixture
def run(calibrated: Path, tmp_path: Path) -> Path:
    """The finished run of four bugs with their calibrations, as a folder to work on."""
    return copy_of(calibrated, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("word", ["test_script.sh", "git', 'apply"])
def test_one_agent_killed_once_leaves_every_bug_valid(backend: Backend, run: Path, word: str) -> None:
    """On the code before, the bugs shared the run of the original that was lost, and all of them were invalid for
    good."""
    killing = Killing(backend, running(word))
    found = list(revalidate(run, killing, workers=2))  # type: ignore[arg-type]
    assert killing.struck == 1 and len(found) == 4
    assert [bug.verdicts for bug in found if not bug.valid] == []


def at_random(seed: int, share: float, most: int) -> Choice:
    """Strike a share of all requests, at most so many."""
    drawn, left = random.Random(seed), [most]

    def choose(number: int, command: str) -> bool:
        left[0] -= (hit := left[0] > 0 and drawn.random() < share)
        return hit

    return choose


@pytest.mark.long
def test_agents_killed_during_the_gold_attempts_leave_every_one_resolved(backend: Backend, run: Path) -> None:
    """On the code before, 2 of 18 stood as unresolved after five kills. Calibrations are made under kills, too."""
    for made in run.glob(f"bugs/*/{CALIBRATION_FILE}"):
        made.unlink()
    killing = Killing(backend, at_random(5, 0.08, 5))
    summary = run_solve(SolveOrder(run, 3, "gold", workers=2), killing, Quiet())  # type: ignore[arg-type]
    with read_pool(run) as pool:
        made = list(pool.attempts.all())
    assert killing.struck == 5 and len(made) == 12 and all(one.resolved for one in made)
    assert summary["figures"]["played_again"] == 5 and summary["figures"]["unplayed"] == {}
    assert list(lost_lines(summary["figures"])) == ["5 jobs were played again since their sandbox was lost"]


def once_for_each_step() -> Choice:
    """Strike the first request of every line in `commands` that uses a sandbox outside of the loop: there are those in
    the main thread, and those that a later version adds."""
    seen: set[tuple[str, int]] = set()

    def choose(number: int, command: str) -> bool:
        frames = traceback.extract_stack() if threading.current_thread() is threading.main_thread() else []
        lines = [(one.filename, one.lineno or 0) for one in frames if "/selfplay/commands/" in one.filename]
        hit = bool(lines) and lines[-1] not in seen
        seen.update(lines[-1:])
        return hit

    return choose


@pytest.mark.long
def test_no_step_outside_of_the_loop_ends_a_run(
    backend: Backend, finished: tuple[Path, Done], shop: Path, run: Path, tmp_path: Path
) -> None:
    """On the code before, a kill while the original was written ended the curriculum."""
    killing = Killing(backend, once_for_each_step())
    order = Order(str(shop), tmp_path / "new", 4, seed=3, workers=2)
    run_curriculum(order, killing, Quiet())  # type: ignore[arg-type]
    assert killing.struck >= 2 and hashes(order.out) == hashes(finished[0])
    assert not [path.name for path in order.out.iterdir() if path.name.startswith(".orig")]
    killing = Killing(backend, once_for_each_step())
    summary = run_solve(SolveOrder(run, 1, "gold", workers=2), killing, Quiet())  # type: ignore[arg-type]
    assert killing.struck >= 1 and summary["figures"]["played_again"] >= 1
    with read_pool(run) as pool:
        assert [one.resolved for one in pool.attempts.all()] == [True] * 4


def hashes(out: Path) -> list[str]:
    with read_pool(out) as pool:
        return [load(out / "bugs" / bug.id).content_hash() for bug in pool.bugs()]


@pytest.mark.long
@pytest.mark.parametrize("what", ["agents", "launcher"])
def test_a_curriculum_makes_the_same_bugs(
    backend: Backend, finished: tuple[Path, Done], shop: Path, tmp_path: Path, what: str
) -> None:
    """On the code before, episodes were stored as lost, and a dead launcher left some runs without a bug."""

    def kill_launcher(sandbox: object) -> None:
        backend._launcher._process.kill()  # type: ignore[attr-defined]

    strike = {"strike": kill_launcher} if what == "launcher" else {}
    killing = Killing(backend, at_random(6, 0.04, 6), **strike)  # type: ignore[arg-type]
    order = Order(str(shop), tmp_path / "run", 4, seed=3, workers=2)
    summary = run_curriculum(order, killing, Quiet())  # type: ignore[arg-type]
    assert killing.struck == 6 and summary["figures"]["played_again"] >= 1  # those that come together are one loss
    assert hashes(order.out) == hashes(finished[0])
    assert "sandbox_lost" not in summary["figures"]["finishes"] and "unplayed" not in summary["figures"]["statuses"]


@pytest.mark.long
def test_an_attempt_that_always_loses_its_sandbox_is_set_aside_for_good(
    backend: Backend, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the code before, it was tried until nothing else was left, and then ended the run."""
    tries: list[str] = []
    play = attempts._played

    async def loses(run: SolverRun, control: Control | None, ready: ReadyBug, number: int) -> attempts.Played:
        tries.append(ready.bug.id)
        if ready.bug.id == first:
            raise SandboxLost("the sandbox died")
        return await play(run, control, ready, number)

    monkeypatch.setattr(attempts, "_played", loses)
    with read_pool(run) as pool:
        first = pool.bugs()[0].id
    told = Telling()
    summary = run_solve(SolveOrder(run, 1, "gold", workers=2), backend, told)
    assert summary["figures"]["unplayed"] == {f"attempt 0 of gold at {first}": "the sandbox died"}
    assert [line for line in told.lines if line.startswith(f"could not be played: {first} gold 0")]
    assert tries.count(first) == retries.TRIES + retries.ALONE == summary["figures"]["played_again"] + 1
    with read_pool(run) as pool:
        assert len(list(pool.attempts.all())) == 3
    assert run_solve(SolveOrder(run, 1, "gold", workers=2), backend, Quiet())["figures"] == summary["figures"]
    assert tries.count(first) == retries.TRIES + retries.ALONE  # a resumed run does not try it again


@pytest.mark.long
def test_so_is_an_episode_and_those_behind_it_are_taken(
    backend: Backend, finished: tuple[Path, Done], shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = injections.injector_rollout

    async def loses(run: InjectorRun, number: int) -> InjectorRollout:
        if number == 1:
            raise SandboxLost("the sandbox died")
        return await play(run, number)

    monkeypatch.setattr(injections, "injector_rollout", loses)
    summary = run_curriculum(Order(str(shop), tmp_path / "run", 4, seed=3, workers=2), backend, Quiet())
    assert summary["figures"]["statuses"]["unplayed"] == 1 and summary["figures"]["bugs"] == 4
    assert summary["figures"]["unplayed"] == {f"episode 1 of {shop}": "the sandbox died"}
    with read_pool(tmp_path / "run") as pool:
        (unplayed,) = [one for one in pool.episodes.records() if one.status == "unplayed"]
    assert unplayed.number == 1 and unplayed.figures.finish == "unplayed"


@pytest.mark.long
def test_a_machine_that_loses_every_sandbox_ends_the_run_and_the_next_one_makes_them_all(
    backend: Backend, run: Path
) -> None:
    killing = Killing(backend, lambda number, command: True)
    with pytest.raises(StillLost, match="sandboxes in a row failed: the sandbox died"):
        run_solve(SolveOrder(run, 1, "gold", workers=2), killing, Quiet())  # type: ignore[arg-type]
    summary = run_solve(SolveOrder(run, 1, "gold", workers=2), backend, Quiet())
    assert summary["solving"]["gold"]["reasons"] == {"resolved": 4} and not summary["figures"]["unplayed"]


class Telling(Quiet):
    """A watcher that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)
