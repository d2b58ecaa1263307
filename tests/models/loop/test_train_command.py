"""`selfplay train` end to end: a tiny random model in both roles of a real repository, coached in half of its episodes,
over two updates; and the same killed between an update and its ledger."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from coached import coached_player
from models.loop.coached_training import PLANS, SILENT, config, killed, steps_of
from safetensors.torch import load_file, save_file
from weights_apart import apart

from benchmarks.steps_trained import account
from selfplay.commands.training import local
from selfplay.commands.training.request import TrainOrder
from selfplay.commands.training.run import run_training
from selfplay.curriculum.open_pool import read_pool
from selfplay.loop.errors import TrainingError
from selfplay.loop.ledger import Ledger
from selfplay.loop.monitors import Collapsed
from selfplay.rollout import players
from selfplay.rollout.solver import solver_rollout
from selfplay.sandbox import Backend


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
