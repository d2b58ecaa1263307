"""`selfplay train` end to end: a tiny random model in both roles of a real repository, coached in half of its episodes,
over two updates; and the same killed between an update and its ledger."""

import json
import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from coached import coached_player
from models.update.conftest import tiny_folder
from recorded import messages
from safetensors.torch import load_file, save_file
from weights_apart import apart

from benchmarks.steps_trained import account
from selfplay.commands.training import local, opponents
from selfplay.commands.training.request import TrainOrder
from selfplay.commands.training.run import run_training
from selfplay.curriculum import CurriculumError
from selfplay.curriculum.open_pool import read_pool
from selfplay.loop.config import TrainConfig
from selfplay.loop.errors import TrainingError
from selfplay.loop.ledger import Ledger
from selfplay.loop.monitors import Collapsed
from selfplay.rollout import players
from selfplay.rollout.solver import solver_rollout
from selfplay.sandbox import Backend

SILENT: Any = SimpleNamespace(
    say=lambda line: None, expect=lambda total, doing="": None, step=lambda step: None, done=lambda line: None,
    attempt=lambda attempt: None, show=lambda page: None,
)  # fmt: skip
PLANTED, MENDED = messages("shop_injector.txt"), messages("shop_solver.txt")
PLANS = {"plant a realistic bug": [None, PLANTED, PLANTED, None], "is broken": [MENDED, None, None, MENDED]}
"""Step 0: an injector on its own and one that plants the bug; an attempt that mends it and one that does not. Step 1:
the same bug again, which is a duplicate, and two more attempts at it."""


@pytest.fixture(scope="module")
def tiny(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("models") / "tiny", smollm2, 49_152)


def config(shop: Path, model: Path, **more: Any) -> TrainConfig:
    found = {
        "source": str(shop), "model": str(model), "engine": "transformers", "play": {"context": 4096}, "steps": 2,
        "workers": 1, "injector": {"groups": 1, "members": 2, "strategy": "direct"},
        "solver": {"bugs": 1, "attempts": 2}, "recipe": {"lr": 1e-5, "budget": 4096, "precision": "fp32"},
    }  # fmt: skip
    return TrainConfig.model_validate(found | more)


@pytest.fixture
def coached(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    """The engine of every run of a test: one list of plans, of which each run takes on."""
    plans = {key: iter(plan) for key, plan in PLANS.items()}
    monkeypatch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_player(tiny, plans)})


@pytest.fixture(scope="module")
def trained(shop: Path, tiny: Path, backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "trained"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_player(tiny, PLANS)})
        run_training(TrainOrder(config(shop, tiny), out), backend, SILENT)
    return out


def steps_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_each_step_plays_both_roles_under_the_newest_weights(trained: Path) -> None:
    """Rewards: step 0: -1 and 1 - 1.8/2 = 0.1; +1 and -1. Step 1: -0.8 and -1; -1 and +1."""
    first, second = steps_of(trained)
    assert (first["version"], second["version"]) == (0, 1)
    rewards = [{role: found["reward"]["mean"] for role, found in one["rollouts"].items()} for one in (first, second)]
    assert rewards == [
        {"injector": pytest.approx(-0.45), "solver": 0.0}, {"injector": pytest.approx(-0.9), "solver": 0.0},
    ]  # fmt: skip
    for one in (first, second):
        both = one["tokens"]["both"]
        assert {role: found["trained_on"] for role, found in one["rollouts"].items()} == {"injector": 2, "solver": 2}
        assert both["absolute_difference"] < 1e-3, "what is trained is what sampled: nothing is stale"
    with read_pool(trained) as pool:
        assert [attempt.versions for attempt in pool.attempts.all()] == [(0, 0), (0, 0), (1, 1), (1, 1)]
        assert [record.status for record in pool.episodes.records()] == ["gave_up", "valid", "duplicate", "gave_up"]


@pytest.mark.slow
def test_an_engine_with_other_weights_ends_the_run_after_its_first_step(
    shop: Path, tiny: Path, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its embeddings are thirty times as large, so it says other tokens: nothing that it samples is the policy's."""
    other = shutil.copytree(tiny, tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    larger = {name: value * 30 if "embed_tokens" in name else value for name, value in weights.items()}
    save_file(larger, other / "model.safetensors", {"format": "pt"})
    monkeypatch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_player(other, PLANS)})
    out = tmp_path / "run"
    for _ in range(2):  # the same command again ends the same way, before anything is played
        with pytest.raises(Collapsed, match="parity: engine and trainer do not have the same policy") as stopped:
            run_training(TrainOrder(config(shop, tiny), out), backend, SILENT)
        assert "monitors.parity.stop=false" in stopped.value.hint and len(steps_of(out)) == 1


@pytest.mark.slow
def test_the_account_of_a_run_names_each_rollout_once(trained: Path) -> None:
    """Two steps of two injections and two attempts, of which each gives a gradient."""
    found = account(trained)
    assert (found.steps, found.updates, found.version) == (2, 2, 2)
    assert found.planned == found.once == found.credited == 8
    assert found.taught == {"injector": 4, "solver": 4}
    assert (found.valid, found.injections, found.resolved, found.attempts) == (1, 4, 2, 4)
    assert (trained / "trajectories" / found.example).is_file()


@pytest.mark.slow
def test_the_weights_change_and_only_the_newest_are_kept(trained: Path, tiny: Path) -> None:
    assert sorted(path.name for path in (trained / "weights").iterdir()) == ["000001", "000002"]
    before, now = load_file(tiny / "model.safetensors"), load_file(trained / "weights/000002/model.safetensors")
    assert before.keys() == now.keys() and any(not now[name].float().equal(before[name].float()) for name in now)


@pytest.mark.slow
def test_a_run_killed_after_an_update_does_not_take_it_again(
    trained: Path, shop: Path, tiny: Path, backend: Backend, tmp_path: Path, coached: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The kill comes when the checkpoint of step 0 is written and the ledger does not have it yet: the weights in the
    end are those of the run that was not killed."""
    out, order = tmp_path / "run", TrainOrder(config(shop, tiny), tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "finish", killed)
        with pytest.raises(InterruptedError):
            run_training(order, backend, SILENT)
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["step-1"]
    found = run_training(order, backend, SILENT)
    assert [one["version"] for one in steps_of(out)] == [0, 1] and len(found["steps"]) == 2
    assert apart(out, trained, tiny) < 0.01
    with pytest.raises(TrainingError, match="begun with recipe"):
        other = config(shop, tiny, recipe={"lr": 1e-6, "budget": 4096, "precision": "fp32"})
        run_training(TrainOrder(other, out), backend, SILENT)


@pytest.mark.slow
def test_an_attempt_that_fails_by_an_error_is_made_again_or_counts_as_lost(
    shop: Path, tiny: Path, backend: Backend, tmp_path: Path, coached: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attempt 0 fails once, so that it is stored in the second round; attempt 1 always does: it is lost, and counted.
    Alone in its group attempt 0 teaches nothing; the two injections do, one of which is valid."""
    tries = Counter[int]()

    async def failing(run: Any, ready: Any, number: int) -> Any:
        tries[number] += 1
        if number == 1 or tries[number] == 1:
            raise ValueError("an error of ours")
        return await solver_rollout(run, ready, number)

    monkeypatch.setattr(local, "solver_rollout", failing)
    run_training(TrainOrder(config(shop, tiny, steps=1), tmp_path / "run"), backend, SILENT)
    (step,) = steps_of(tmp_path / "run")
    assert step["rollouts"]["solver"]["episodes"] == 2
    assert step["rollouts"]["solver"]["without_a_gradient"] == {"alone": 1, "lost": 1}
    with read_pool(tmp_path / "run") as pool:
        first, second = pool.attempts.all()
    assert first.resolved and second.reason == "unplayed" and "an error of ours" in second.detail
    assert step["rollouts"]["injector"]["outcomes"] == {"invalid": 1, "valid": 1}


def killed(*_: object) -> None:
    raise InterruptedError("here the process was killed")


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
