"""`roles: separate` end to end: each role is sampled with its own adapter and trains it alone, also over a kill."""

from asyncio import Runner
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from coached import coached_by_role
from models.loop.coached_training import PLANS, SILENT, config, killed, steps_of
from played_episodes import PROMPT, attempt, injector, taped
from safetensors.torch import load_file

from benchmarks.steps_trained import account
from selfplay.agent.model import Sampling
from selfplay.commands.credit import CreditOrder
from selfplay.commands.learn import LearnOrder, dry_run
from selfplay.commands.training.request import TrainOrder
from selfplay.commands.training.run import run_training
from selfplay.commands.training.update import Learner
from selfplay.curriculum.open_pool import read_pool
from selfplay.loop.config import TrainConfig
from selfplay.loop.ledger import Ledger
from selfplay.policies.transformers_model import TransformersModel, TransformersOptions
from selfplay.rollout import players
from selfplay.sandbox import Backend
from selfplay.update.batch.crediting import Credited, credited
from selfplay.update.errors import LearningError
from selfplay.update.recipe import Recipe
from selfplay.update.step.policies import PolicyByRole

ROLES = ("injector", "solver")
EPISODES = (injector("i1", "valid", "b1"), injector("i2"), attempt("s1", "resolved"), attempt("s2"))


def learner(tiny: Path, out: Path, **recipe: Any) -> Learner:
    settings = {"lr": 1e-2, "precision": "fp32", "budget": 64, "lora_rank": 2, "normalisation": "tokens", **recipe}
    found = {"source": "a", "model": str(tiny), "play": {"context": 64}, "recipe": settings, "roles": "separate"}
    return Learner(TrainConfig.model_validate(found), out)


def played(engine: TransformersModel, loop: Runner, roles: Sequence[str]) -> list[Credited]:
    """An answer of 12 tokens for each of `EPISODES`, sampled as these roles."""
    found, prompt = [], [5, 6, 7][:PROMPT]
    for number, (episode, role) in enumerate(zip(EPISODES, roles, strict=True)):
        one = loop.run(engine.for_episode(role, "e").sample(prompt, Sampling(max_tokens=12, seed=number), ()))
        logprobs = [0.0] * PROMPT + list(one.logprobs)
        found.append(taped(episode, [*prompt, *one.ids], (12,), logprobs, version=one.versions[0]))
    return credited(found, Recipe())


def model_in(folder: Path, role: str) -> dict[str, Any]:
    return load_file(folder / role / "model.safetensors")


@pytest.mark.slow
def test_ratios_are_one_under_each_role_s_own_adapter(tiny: Path, loop: Runner, tmp_path: Path) -> None:
    """After an update of both, at a learning rate of 0: what each role's engine sampled has ratio 1 under its own
    adapter, and not under the other's. Nothing moves."""
    how = TransformersOptions(dtype="float32", context=64, lora_rank=2)
    engine = loop.run(TransformersModel.open(str(tiny), how))
    own = [one.role for one in EPISODES]
    try:
        first = learner(tiny, tmp_path)
        for step in range(2):
            first.learn(played(engine, loop, own), step)
            folder = first.write()
            assert folder is not None
            loop.run(engine.reload(str(folder), first.version))
        still = learner(tiny, tmp_path, lr=0.0)
        figures = still.learn(played(engine, loop, own), 2)["tokens"]
        swapped = [ROLES[role == "injector"] for role in own]
        wrong = still.learn(played(engine, loop, swapped), 3)["tokens"]
    finally:
        loop.run(engine.close())
    for role in ROLES:
        assert figures[role]["ratio_min"] == pytest.approx(1, abs=1e-3)
        assert figures[role]["ratio_max"] == pytest.approx(1, abs=1e-3)
        assert wrong[role]["absolute_difference"] > 10 * figures[role]["absolute_difference"] + 1e-3
    after = still.write()
    assert after is not None and (folder.name, after.name) == ("000002", "000004")
    for role in ROLES:
        before = model_in(folder, role)
        assert all(before[name].equal(value) for name, value in model_in(after, role).items())


@pytest.mark.slow
def test_a_model_for_each_role_and_its_adapter_alone_are_written(tiny: Path, tmp_path: Path) -> None:
    """Each is a whole model of its own names; they differ from the first and from each other, in what has adapters."""
    logs = [-10.8] * 20
    rollouts = credited([taped(one, range(2, 22), (4 + n,), logs) for n, one in enumerate(EPISODES)], Recipe())
    first = learner(tiny, tmp_path)
    first.learn(rollouts, 0)
    for higher in ("999998", "999999"):  # of a shared run: they are not the newest, and its own are kept beside them
        (tmp_path / "weights" / higher).mkdir(parents=True)
    folder = first.write()
    assert folder == tmp_path / "weights" / "000001" and folder.is_dir()
    models = [load_file(tiny / "model.safetensors"), *(model_in(folder, role) for role in ROLES)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert models[one].keys() == models[other].keys()
        apart = {name for name, value in models[one].items() if not value.float().equal(models[other][name].float())}
        assert apart and all(name.endswith("_proj.weight") for name in apart)
    for role in ROLES:
        assert (folder / role / "tokenizer.json").is_file() and (folder / role / "adapter").is_dir()
    again = learner(tiny, tmp_path)
    assert again.version == 1 and again.learn(rollouts, 0)["step"]["step"] == 1, "it is not taken again"
    none = credited([replace(one.played) for one in rollouts if one.played.episode.name == "s1"], Recipe())
    assert "nothing" in again.learn(none, 1) and again.version == 1


@pytest.mark.slow
def test_both_roles_of_a_run_killed_after_an_update(
    shop: Path, tiny: Path, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kill comes when the checkpoint of step 0 is written and the ledger does not have it yet. Two updates are
    taken of two steps; in both, what is trained is what sampled, with either adapter."""
    plans, taken, update = {key: iter(plan) for key, plan in PLANS.items()}, list[int](), PolicyByRole.update

    def counted(policy: PolicyByRole, *given: Any) -> Any:
        taken.append(policy.version)
        return update(policy, *given)

    monkeypatch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_by_role(tiny, plans)})
    monkeypatch.setattr(PolicyByRole, "update", counted)
    recipe = {"lr": 1e-2, "budget": 4096, "precision": "fp32", "lora_rank": 2}
    order = TrainOrder(config(shop, tiny, recipe=recipe, roles="separate"), tmp_path / "run")
    with monkeypatch.context() as patch, pytest.raises(InterruptedError):
        patch.setattr(Ledger, "finish", killed)
        run_training(order, backend, SILENT)
    assert [path.name for path in (order.out / "checkpoints").iterdir()] == ["step-1"]
    result = run_training(order, backend, SILENT)
    assert taken == [0, 1] and [one["version"] for one in steps_of(order.out)] == [0, 1]
    assert result["weights"] == str(order.out / "weights" / "000002")
    found = account(order.out)
    assert (found.updates, found.version, found.taught) == (2, 2, {"injector": 4, "solver": 4})
    assert found.planned == found.once == found.credited == 8
    for one in steps_of(order.out):
        assert one["steps"].keys() == set(ROLES)
        assert all(one["tokens"][role]["absolute_difference"] < 1e-3 for role in ROLES)
    with read_pool(order.out) as pool:
        assert [attempt.versions for attempt in pool.attempts.all()] == [(0, 0), (0, 0), (1, 1), (1, 1)]
    with pytest.raises(LearningError, match="trained with roles=separate: its episodes were sampled by two models"):
        dry_run(LearnOrder(CreditOrder((order.out,), "training"), str(tiny), tmp_path / "one"), SILENT)
