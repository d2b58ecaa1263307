"""Whole commands while a policy takes more than its sandbox gives: the policy is to blame, in credit too."""

from pathlib import Path

import pytest
from commands.test_lost import run, this_cache
from run_fixtures import Done

from selfplay.agent import Trajectory
from selfplay.agent.actions import Call, Finish, Observation, Stop, Turn
from selfplay.agent.episode import EpisodeLost
from selfplay.agent.trajectory import Record
from selfplay.api import Quiet
from selfplay.commands import attempts, injections
from selfplay.commands.curriculum import run_curriculum
from selfplay.commands.grade import grade_file
from selfplay.commands.order import Order
from selfplay.commands.predictions import GradingOptions, grade_predictions
from selfplay.commands.solve import SolveOrder, run_solve
from selfplay.curriculum import read_pool
from selfplay.curriculum.crediting import episodes_of
from selfplay.oracle.grade import Grader
from selfplay.oracle.grades import Grade
from selfplay.oracle.reasons import blamed
from selfplay.rollout import scripted_player
from selfplay.rollout.controls import Control
from selfplay.rollout.injector import InjectorRun
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.rollout import InjectorRollout
from selfplay.rollout.solver import SolverRun
from selfplay.sandbox import Backend, Cause, SandboxLost, retry

__all__ = ["run", "this_cache"]


class Acting:
    """A script of these turns."""

    name = "scripted-naive"

    def __init__(self, turns: list[Call]) -> None:
        self.turns = turns

    async def act(self, observation: Observation | None) -> Turn:
        return self.turns.pop(0) if self.turns else Stop()

    def record(self) -> Record:
        return Record()


@pytest.mark.slow
def test_who_meets_a_limit_of_the_sandbox_again_is_to_blame(
    backend: Backend, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the code before, credit said that the machine lost it: a policy without a chance could leave its group."""
    tries = list[int]()

    async def greedy(run: SolverRun, control: Control | None, ready: ReadyBug, number: int) -> attempts.Played:
        tries.append(number)
        ended = Trajectory("solver", "naive", Finish.SANDBOX_LOST)
        raise EpisodeLost(SandboxLost("more than its memory", cause=Cause.LIMIT), ended)

    monkeypatch.setattr(attempts, "_played", greedy)
    with read_pool(run) as pool:
        first = pool.bugs()[0].id
    run_solve(SolveOrder(run, 1, "naive", workers=2, bugs=(first,)), backend, Quiet())
    assert tries == [0] * retry.LIMITS
    with read_pool(run) as pool:
        (made,) = pool.attempts.all()
    assert (made.reason, made.figures.finish, made.detail) == ("over-limits", "over_limits", "more than its memory")
    (credited,) = [one.episode for one in episodes_of(run, "naive") if one.episode.role == "solver"]
    assert (credited.outcome, credited.lost) == ("failed", False)


@pytest.mark.slow
def test_a_prediction_with_which_a_limit_is_met_again_is_graded(
    backend: Backend, run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On the code before, `--patch` gave an error and no grade, and of many it was nobody's fault."""
    (folder, *_) = sorted((run / "bugs").iterdir())
    (tmp_path / "a.diff").write_text((folder / "bug_inject.diff").read_text())
    tries = list[int]()

    def greedy(grader: Grader, backend: Backend, prediction: bytes | str) -> Grade:
        tries.append(1)
        raise SandboxLost("more than its memory", cause=Cause.LIMIT)

    monkeypatch.setattr(Grader, "_grade", greedy)
    alone = grade_file(folder, tmp_path / "a.diff", backend)
    many = grade_predictions(run, {folder.name: (tmp_path / "a.diff").read_text()}, backend, GradingOptions(workers=1))
    assert (
        [(alone.reason, alone.resolved)] == [(one.reason, one.resolved) for _, one in many] == [("over-limits", False)]
    )
    assert len(tries) == 2 * retry.LIMITS and "over-limits" in blamed("wrong")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("truncate -s 900M a b c", "nothing-handed-in"),  # more than is packed
        (r"""python3 -c "open('a', 'w').write('a\\n' * 125_000_000)" """, "over-limits"),
    ],
)
def test_what_a_solver_leaves_is_its_own_fault(
    backend: Backend, run: Path, monkeypatch: pytest.MonkeyPatch, command: str, reason: str
) -> None:
    """Our own programs were killed for the memory that its files take: its attempt was set aside, and never punished,
    whenever it liked."""
    turns = [Call("bash", {"command": command}), Call("submit", {"folder": "."})]
    monkeypatch.setattr(scripted_player, "naive_solver", lambda task: Acting(list(turns)))
    with read_pool(run) as pool:
        first = pool.bugs()[0].id
    run_solve(SolveOrder(run, 1, "naive", workers=1, bugs=(first,)), backend, Quiet())
    with read_pool(run) as pool:
        assert [made.reason for made in pool.attempts.all()] == [reason]
    (credited,) = [one.episode for one in episodes_of(run, "naive") if one.episode.role == "solver"]
    assert (credited.outcome, credited.lost) == ("failed", False)


@pytest.mark.slow
def test_so_is_an_injector_that_meets_one_again(
    backend: Backend, finished: tuple[Path, Done], shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = injections.injector_rollout

    async def greedy(run: InjectorRun, number: int) -> InjectorRollout:
        if number == 0:
            ended = Trajectory("injector", "scripted", Finish.SANDBOX_LOST)
            raise EpisodeLost(SandboxLost("more than its memory", cause=Cause.LIMIT), ended)
        return await play(run, number)

    monkeypatch.setattr(injections, "injector_rollout", greedy)
    run_curriculum(Order(str(shop), tmp_path / "run", 1, seed=3, workers=2), backend, Quiet())
    with read_pool(tmp_path / "run") as pool:
        (failed,) = [one for one in pool.episodes.records() if one.number == 0]
    assert (failed.status, failed.figures.finish) == ("failed", "over_limits")
    credited = [one.episode for one in episodes_of(tmp_path / "run") if one.finish == "over_limits"]
    assert [(one.outcome, one.lost) for one in credited] == [("invalid", False)]
