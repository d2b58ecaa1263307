"""An adapter for each role: they learn apart, on weights that are there once, and are stored together or not at all."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from played_episodes import attempt, injector, taped
from tiny_models import VOCABULARY, tiny_llama
from torch import Tensor

from selfplay.train import checkpoint, lora
from selfplay.train.errors import TrainError
from selfplay.train.model import ModelOptions, load_scorers
from selfplay.update.batch.crediting import Credited, credited
from selfplay.update.recipe import Recipe
from selfplay.update.step.policies import OnePolicy, PolicyByRole

RECIPE = Recipe(precision="fp32", lr=1e-2, budget=40, lora_rank=4)
ROLES = ("injector", "solver")
Weights = dict[str, dict[str, Tensor]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    tiny_llama().save_pretrained(folder)
    return str(folder)


def batch(bug: str = "b1") -> list[Credited]:
    """A valid bug beside an invalid one, and two attempts of which one resolves it. Without a bug the proposals are all
    invalid, and only the solver has something to learn."""
    logs = [-4.5] * 40
    made = injector("i1", "valid", bug) if bug else injector("i1")
    told = (
        (made, 31, (9, 7)), (injector("i2"), 17, (11,)),
        (attempt("s1", "resolved"), 23, (8, 5)), (attempt("s2"), 12, (4,)),
    )  # fmt: skip
    ids = [7 * number % VOCABULARY for number in range(40)]
    return credited([taped(one, ids[:length], parts, logs[:length]) for one, length, parts in told], RECIPE)


def weights(policy: PolicyByRole) -> Weights:
    found = {role: trainer.scorer.model.named_parameters() for role, trainer in policy.trainers.items()}
    return {role: {name: value.detach().clone() for name, value in named} for role, named in found.items()}


def moved(before: Weights, after: Weights) -> dict[str, set[str]]:
    return {role: {name for name in before[role] if not before[role][name].equal(after[role][name])} for role in ROLES}


def test_the_weights_under_the_adapters_are_there_once(model: str, tmp_path: Path) -> None:
    found = PolicyByRole(model, RECIPE, tmp_path).trainers
    mine, theirs = (dict(found[role].scorer.model.named_parameters()) for role in ROLES)
    shared = {name for name in mine if mine[name].data_ptr() == theirs[name].data_ptr()}
    assert shared == {name for name in mine if lora.PART not in name} and len(shared) < len(mine)


def test_a_step_in_which_one_role_teaches_changes_its_adapter_alone(model: str, tmp_path: Path) -> None:
    policy = PolicyByRole(model, RECIPE, tmp_path)
    before = weights(policy)
    done = policy.update(batch(bug=""), RECIPE)
    found = moved(before, weights(policy))
    assert not found["injector"] and found["solver"] and all(lora.PART in name for name in found["solver"])
    assert done.steps.keys() == {"solver"} and policy.version == 1
    assert (policy.trainers["injector"].steps, policy.trainers["solver"].steps) == (0, 1)


def test_each_adapter_learns_what_it_would_have_learned_alone(model: str, tmp_path: Path) -> None:
    """Bit for bit that of a model which was given only the role's episodes, over two steps."""
    policy = PolicyByRole(model, RECIPE, tmp_path)
    done = [policy.update(batch(), RECIPE) for _ in range(2)][-1]
    for role in ROLES:
        alone = OnePolicy(model, RECIPE, tmp_path)
        for _ in range(2):
            step = alone.update([one for one in batch() if one.played.episode.role == role], RECIPE).step
        expected = dict(alone.scorer.model.named_parameters())
        found = dict(policy.trainers[role].scorer.model.named_parameters())
        assert all(found[name].equal(expected[name]) for name in expected) and found.keys() == expected.keys()
        assert (done.steps[role].loss, done.steps[role].gradient) == (step.loss, step.gradient)
    assert done.step.gradient == pytest.approx(math.hypot(*(one.gradient for one in done.steps.values())))
    assert done.step.trained == sum(one.trained for one in done.steps.values()) == 44
    assert done.figures()["steps"].keys() == done.tokens.keys() - {"both"} == set(ROLES)


def test_both_go_on_bit_for_bit_from_their_checkpoint(model: str, tmp_path: Path) -> None:
    first, again = PolicyByRole(model, RECIPE, tmp_path), PolicyByRole(model, RECIPE, tmp_path)
    assert again.resume(tmp_path / "c") == {} and again.version == 0
    first.update(batch(bug=""), RECIPE), first.update(batch(), RECIPE)
    first.save(tmp_path / "c", {"step": 7}, 1)
    assert again.resume(tmp_path / "c") == {"step": 7} and again.version == 2
    assert {role: again.trainers[role].steps for role in ROLES} == {"injector": 1, "solver": 2}
    first.update(batch(), RECIPE), again.update(batch(), RECIPE)
    assert moved(weights(first), weights(again)) == {"injector": set(), "solver": set()}


class Killed(BaseException):
    """The process ends here."""


def test_a_kill_between_the_two_leaves_both_as_they_were(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The injector's checkpoint is whole and the solver's is not: neither counts."""
    policy, complete, calls = PolicyByRole(model, RECIPE, tmp_path), checkpoint._complete, list[Path]()

    def killed(trainer: Any, made: Path, *others: Any) -> None:
        calls.append(made)
        if len(calls) == 2:
            raise Killed
        complete(trainer, made, *others)

    policy.update(batch(), RECIPE)
    policy.save(tmp_path / "c", {"step": 0}, 1)
    kept = weights(policy)
    policy.update(batch(), RECIPE)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(checkpoint, "_complete", killed)
        policy.save(tmp_path / "c", {"step": 1}, 1)
    again = PolicyByRole(model, RECIPE, tmp_path)
    assert again.resume(tmp_path / "c") == {"step": 0} and again.version == 1
    assert moved(kept, weights(again)) == {"injector": set(), "solver": set()}
    again.update(batch(), RECIPE)
    again.save(tmp_path / "c", {"step": 1}, 1)
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["step-2"]
    assert moved(weights(policy), weights(again)) == {"injector": set(), "solver": set()}


def test_a_checkpoint_of_another_kind_is_refused(model: str, tmp_path: Path) -> None:
    policy, one = PolicyByRole(model, RECIPE, tmp_path), OnePolicy(model, RECIPE, tmp_path)
    policy.update(batch(), RECIPE), one.update(batch(), RECIPE)
    policy.save(tmp_path / "two", {}, 1), one.save(tmp_path / "one", {}, 1)
    with pytest.raises(TrainError, match="step-1 is not a whole checkpoint"):
        one.resume(tmp_path / "two")
    with pytest.raises(TrainError, match="step-1 has no checkpoint of injector"):
        policy.resume(tmp_path / "one")
    shutil.rmtree(tmp_path / "two" / "step-1" / "solver")
    with pytest.raises(TrainError, match="step-1 has no checkpoint of solver"):
        policy.resume(tmp_path / "two")


def test_weights_that_are_trained_are_not_shared(model: str) -> None:
    with pytest.raises(TrainError, match="several policies need adapters"):
        load_scorers(model, ModelOptions(precision="fp32"), 2)
