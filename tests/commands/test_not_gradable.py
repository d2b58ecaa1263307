"""Bugs that their own tests have made ungradable end no run: those behind them are attempted."""

from pathlib import Path

import pytest
from commands.test_lost import Telling, run, this_cache

from selfplay.commands import attempts
from selfplay.commands.solve import SolveOrder, run_solve
from selfplay.curriculum import read_pool
from selfplay.oracle.errors import OracleError
from selfplay.rollout.controls import Control
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.solver import SolverRun
from selfplay.sandbox import Backend

__all__ = ["run", "this_cache"]


@pytest.mark.slow
@pytest.mark.parametrize("error", [OracleError, RuntimeError])
def test_bugs_that_cannot_be_graded_are_left_out_one_by_one(
    backend: Backend, run: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """Eight in a row ended each run of a pool, before the bugs behind them. What nobody foresaw still does."""
    play, tried = attempts._played, list[str]()

    async def refused(run: SolverRun, control: Control | None, ready: ReadyBug, number: int) -> attempts.Played:
        tried.append(ready.bug.id)
        if ready.bug.id in wrong:
            raise error("the original cannot be graded against")
        return await play(run, control, ready, number)

    monkeypatch.setattr(attempts, "_played", refused)
    monkeypatch.setattr(attempts, "MOST_UNPLAYED", 3)
    with read_pool(run) as pool:
        *wrong, last = [bug.id for bug in pool.bugs()]
    told, order = Telling(), SolveOrder(run, 1, "gold", workers=1)
    if error is RuntimeError:
        with pytest.raises(attempts.RolloutError, match="attempts at 3 bugs could not be played"):
            run_solve(order, backend, told)
        return
    run_solve(order, backend, told)
    assert tried == [*wrong, last]
    with read_pool(run) as pool:
        assert [one.bug for one in pool.attempts.all()] == [last]
    assert sum("is not attempted: the original cannot be graded against" in line for line in told.lines) == 3
