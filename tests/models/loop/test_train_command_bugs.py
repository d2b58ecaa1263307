"""Whose bugs and attempts count in the steps of `selfplay train`: an opponent's, those of second order, and those that
are named. A tiny random model, coached in half of its episodes."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from coached import coached_player
from models.loop.coached_training import MENDED, PLANTED, SILENT, config, steps_of

from selfplay.commands.training import opponents
from selfplay.commands.training.request import TrainOrder
from selfplay.commands.training.run import run_training
from selfplay.curriculum import CurriculumError
from selfplay.curriculum.open_pool import read_pool
from selfplay.rollout import players
from selfplay.sandbox import Backend


@pytest.mark.slow
def test_an_opponent_counts_for_the_injector_and_is_not_trained_on(
    shop: Path, tiny: Path, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The present injector plants a bug, and a frozen policy makes both attempts at it: one mends it, so the injector
    earns 1 - 1.8/2 = 0.1 and learns, and the solver has nothing to learn. In the next step, when the bug is old, the
    present policy attempts it: each has two attempts in its plan, and no more."""
    frozen = tmp_path / "frozen"
    shutil.copytree(tiny, frozen)
    plans = {
        str(tiny): {"plant a realistic bug": [None, PLANTED, None, None], "is broken": [MENDED, None]},
        str(frozen): {"is broken": [MENDED, None]},
    }
    monkeypatch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_player(tiny, plans[model])})
    monkeypatch.setattr(opponents, "drawn", lambda share, seed, group: group.startswith("solver:"))
    out = tmp_path / "run"
    run_training(TrainOrder(config(shop, tiny, opponents={"share": 0.5, "model": str(frozen)}), out), backend, SILENT)
    first, second = steps_of(out)
    assert first["rollouts"]["injector"]["reward"]["max"] == pytest.approx(0.1)
    assert first["rollouts"]["injector"]["trained_on"] == 2
    assert first["rollouts"]["solver"]["without_a_gradient"] == {"opponent": 2}
    assert second["rollouts"]["solver"]["trained_on"] == 2
    with read_pool(out) as pool:
        assert [one.resolved for one in pool.attempts.all()] == [True, False, True, False]


WRONG = [
    MENDED[0].replace('    sign = "-" if cents < 0 else ""', '    sign = "+"'),
    *MENDED[1:],
]


@pytest.mark.slow
def test_a_failed_attempt_becomes_a_bug_of_later_steps(
    shop: Path, tiny: Path, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step 0: one attempt makes the price's sign a plus, the other mends it; what the first left is a second-order bug,
    which step 1 attempts beside the old one. Its failures do not count for whoever planted the first: one of two
    attempts at that mended it, so it earns 1 - 1.8/2 = 0.1."""
    attempts = [WRONG, MENDED, None, None, None, None]
    plans = {"plant a realistic bug": [None, PLANTED, None, None], "is broken": attempts}
    monkeypatch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_player(tiny, plans)})
    out = tmp_path / "run"
    run_training(
        TrainOrder(config(shop, tiny, solver={"bugs": 2, "attempts": 2, "second_order": 1}), out), backend, SILENT
    )
    with read_pool(out) as pool:
        (second,) = [bug for bug in pool.bugs() if bug.order == 2]
        made = {(one.bug, one.number) for one in pool.attempts.all()}
    assert {(second.id, 0), (second.id, 1), (second.parent, 2), (second.parent, 3)} <= made and len(made) == 6
    first, after = steps_of(out)
    assert first["rollouts"]["injector"]["reward"]["max"] == pytest.approx(0.1)
    assert after["rollouts"]["solver"]["episodes"] == 4


@pytest.mark.slow
def test_old_bugs_are_drawn_from_those_that_are_named(
    shop: Path, tiny: Path, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that leaves two bugs behind, the second made of an attempt at the first, then another one on its folder: it
    names the second alone, and its two attempts are at that one. A name that no bug has is refused before anything is
    played."""
    plans = {"plant a realistic bug": [None, PLANTED], "is broken": [WRONG, MENDED, None, None]}
    monkeypatch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_player(tiny, plans)})
    out = tmp_path / "run"
    both = config(shop, tiny, steps=1, solver={"bugs": 2, "attempts": 2, "second_order": 1})
    run_training(TrainOrder(both, out), backend, SILENT)
    for ledger in out.glob("train.sqlite*"):
        ledger.unlink()
    with read_pool(out) as pool:
        (wanted,) = [bug.id for bug in pool.bugs() if bug.order == 2]
        before = Counter(one.bug for one in pool.attempts.all())

    def on(name: str) -> TrainOrder:
        solver = {"bugs": 2, "attempts": 2, "only": [name]}
        return TrainOrder(config(shop, tiny, steps=1, injector={"groups": 0}, solver=solver), out)

    with pytest.raises(CurriculumError, match="the run has no bug 'elsewhere'"):
        run_training(on("elsewhere"), backend, SILENT)
    for ledger in out.glob("train.sqlite*"):
        ledger.unlink()
    run_training(on(wanted), backend, SILENT)
    with read_pool(out) as pool:
        assert Counter(one.bug for one in pool.attempts.all()) - before == {wanted: 2}
