"""`selfplay solve` again: after a kill, with more attempts, and where nothing is left to do."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from commands.solved_runs import attempts, pair, run, solved
from copied_runs import copy_of
from run_fixtures import Command, Done

from selfplay.api import Quiet
from selfplay.commands.solve import SolveOrder, run_solve
from selfplay.curriculum import CurriculumError
from selfplay.rollout.scripted_player import ScriptedPlayer
from selfplay.sandbox import Backend

__all__ = ["pair", "run", "solved"]

pytestmark = pytest.mark.slow  # a whole run to attempt, and many attempts


@pytest.mark.long
def test_the_same_command_again_plays_nothing_and_more_attempts_go_on(
    selfplay: Command, solved: tuple[Path, Done], tmp_path: Path
) -> None:
    run = copy_of(solved[0], tmp_path / "run")
    before = [a for a in attempts(run) if ".o2." not in a.bug]
    bug, other = sorted({a.bug for a in before})
    shutil.rmtree(run / "bugs" / other)
    done = selfplay("solve", run, "--attempts", 3, "--policy", "naive", "--json")
    assert done.code == 0, done.err
    assert f"{other} is left out" in done.err  # named, and nothing else is lost
    own = [a.number for a in attempts(run) if a.bug == bug]
    assert own == [0, 1, 2] and [a for a in attempts(run) if a.bug == bug][:2] == [a for a in before if a.bug == bug]


def test_a_player_without_anything_to_do_is_not_opened(
    selfplay: Command, solved: tuple[Path, Done], tmp_path: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine takes half a minute to open."""

    async def refused(self: ScriptedPlayer, say: Callable[[str], None]) -> None:
        raise CurriculumError("opened")

    monkeypatch.setenv("SELFPLAY_CACHE", str(selfplay.cache))
    monkeypatch.setattr(ScriptedPlayer, "open", refused)
    run, quiet = copy_of(solved[0], tmp_path / "run"), Quiet()
    bugs = tuple(sorted({a.bug for a in attempts(run) if ".o2." not in a.bug}))
    run_solve(SolveOrder(run, 2, "naive", bugs=bugs), backend, quiet)
    with pytest.raises(CurriculumError, match="opened"):
        run_solve(SolveOrder(run, 3, "naive", bugs=bugs), backend, quiet)


@pytest.mark.long
def test_a_kill_loses_no_attempt_and_counts_none_twice(selfplay: Command, run: Path) -> None:
    """Killed once an attempt is stored, with so many to go that none is the last before the kill comes."""
    with selfplay.running("solve", run, "--attempts", 4, "--policy", "naive") as solving:
        solving.until(" naive ")
        solving.ends_by(signal.SIGKILL)
    kept = attempts(run)
    assert 1 <= len(kept) < 8  # two bugs
    done = selfplay("solve", run, "--attempts", 4, "--policy", "naive", "--json")
    assert done.code == 0, done.err
    assert len(attempts(run)) == 8 and [a for a in attempts(run) if a in kept] == kept
    assert done.json["solving"]["naive"]["order_1"]["attempts"] == 8
