"""`selfplay train` on Ray: a tiny model in both roles of a real repository, coached in half of its episodes.

The run is that of one process, also when engines, hosts and trainers are killed; and it is as stale as was allowed.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from coached import coached_by_role_and_seed, coached_by_seed
from recorded import messages
from watching import Watcher, actors
from weights_apart import apart

from selfplay.commands.training.request import TrainOrder
from selfplay.commands.training.run import run_training
from selfplay.curriculum.open_pool import read_pool
from selfplay.loop.config import TrainConfig
from selfplay.rollout import players
from selfplay.sandbox import Backend

LINES = {"plant a realistic bug": messages("shop_injector.txt"), "is broken": messages("shop_solver.txt")}
STEPS = 2
SAME = 0.01
"""How far apart the same weights are at most, as a share of how far they moved: rounding. An update that was taken
twice or left out, of two, would be about a half."""


def config(shop: Path, model: Path, **more: Any) -> TrainConfig:
    found = {
        "source": str(shop), "model": str(model), "engine": "transformers", "play": {"context": 4096}, "steps": STEPS,
        "workers": 1, "injector": {"groups": 1, "members": 4, "strategy": "direct"},
        "solver": {"bugs": 1, "attempts": 4}, "recipe": {"lr": 1e-5, "budget": 4096, "precision": "fp32"},
    }  # fmt: skip
    return TrainConfig.model_validate(found | more)


CLUSTER = {"cluster": {"engines": 2, "hosts": 2, "host_cpus": 1, "host_episodes": 2}}


@pytest.fixture(autouse=True)
def coached(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    monkeypatch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_by_seed(tiny, LINES)})


@pytest.fixture(scope="module")
def in_one_process(shop: Path, tiny: Path, backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "one"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_by_seed(tiny, LINES)})
        run_training(TrainOrder(config(shop, tiny), out), backend, Watcher())
    return out


def what_came(out: Path) -> dict[str, Any]:
    """What both roles did, and which version of the weights did it."""
    with read_pool(out) as pool:
        return {
            "episodes": [(one.number, one.status, one.tree_key, one.versions) for one in pool.episodes.records()],
            "attempts": sorted(
                (one.bug, one.number, one.resolved, one.diff, one.versions) for one in pool.attempts.all()
            ),
        }


def steps_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_without_staleness_it_is_the_run_of_one_process(
    in_one_process: Path, shop: Path, tiny: Path, backend: Backend, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run_training(TrainOrder(config(shop, tiny, **CLUSTER), out), backend, Watcher())
    assert what_came(out) == what_came(in_one_process)
    assert any("nothing" not in one for one in steps_of(out)), "there was something to learn"
    assert apart(out, in_one_process, tiny) < SAME


@pytest.mark.slow
def test_two_ranks_of_a_trainer_learn_as_one(
    in_one_process: Path, shop: Path, tiny: Path, backend: Backend, tmp_path: Path
) -> None:
    """Over gloo, with the model shared by FSDP2; the weights go to the engines over the network: one folder of them is
    written, by both ranks, at the end."""
    out = tmp_path / "run"
    cluster = {"cluster": {**CLUSTER["cluster"], "trainers": 2, "weights": "broadcast"}}
    run_training(TrainOrder(config(shop, tiny, **cluster), out), backend, Watcher())
    assert what_came(out) == what_came(in_one_process)
    assert [path.name for path in (out / "weights").iterdir()] == [f"{STEPS:06}"]
    assert apart(out, in_one_process, tiny) < SAME


KILLED = {"injector 0": "EngineActor", "injector 2": "HostActor", "step 1": "RankActor", "injector 5": "HostActor"}
"""What is said -> who is killed then."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_whoever_is_killed_the_run_is_the_same(
    in_one_process: Path, shop: Path, tiny: Path, backend: Backend, tmp_path: Path
) -> None:
    """One of each kind is killed while the first episodes are played, a host and an engine again later, the trainer
    when the second step begins, the driver itself after that: the same command goes on. The weights are sent; where
    engines read them as files, trainer and engine are killed in `test_each_role_has_its_adapter_also_on_ray`."""
    out, struck = tmp_path / "run", list[str]()

    def strike(line: str) -> None:
        for said, kind in KILLED.items():
            if line.startswith(said) and said not in struck:
                struck.append(said)
                kill_one(kind)
        if line.startswith("injector 6") and "driver" not in struck:
            struck.append("driver")
            raise InterruptedError("here the driver was killed")

    cluster = {"cluster": {**CLUSTER["cluster"], "weights": "broadcast"}}
    order = TrainOrder(config(shop, tiny, **cluster), out)
    with pytest.raises(InterruptedError):
        run_training(order, backend, Watcher(strike))
    assert not actors("HostActor") and not actors("EngineActor"), "nothing of the cluster is left"
    run_training(order, backend, Watcher(strike))
    assert len(struck) == 5
    assert what_came(out) == what_came(in_one_process)
    assert [one["rollouts"] for one in steps_of(out)] == [one["rollouts"] for one in steps_of(in_one_process)]
    assert apart(out, in_one_process, tiny) < SAME


@pytest.mark.slow
def test_steps_overlap_as_far_as_staleness_allows(shop: Path, tiny: Path, backend: Backend, tmp_path: Path) -> None:
    """With staleness 1 step 1 begins to be played with the weights that step 0 is played by, step 2 with those after
    step 0's update; no token is staler than 1, and each step is trained on once."""
    out = tmp_path / "run"
    run_training(TrainOrder(config(shop, tiny, staleness=1, steps=3, **CLUSTER), out), backend, Watcher())
    steps = steps_of(out)
    assert [one["number"] for one in steps] == [0, 1, 2] and [one["version"] for one in steps] == [0, 0, 1]
    behind = [{int(old) for role in one["rollouts"].values() for old in role["versions_behind"]} for one in steps]
    updates = ["nothing" not in one for one in steps]
    assert updates[0], "without an update nothing is stale"
    assert behind[0] == {0} and all(ages <= {0, 1} for ages in behind)
    assert 1 in set[int]().union(*behind), "step 1 begins with the weights before step 0's update"
    with read_pool(out) as pool:
        assert Counter(one.number for one in pool.episodes.records()) == Counter(range(12))


@pytest.mark.slow
def test_each_role_has_its_adapter_also_on_ray(
    shop: Path, tiny: Path, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two engines sample either role with its own adapter, and the trainer and an engine are killed: both adapters are
    those of one process. What sampled is what is trained: the ratios of both roles are 1 at a tiny learning rate."""
    kinds = {"transformers": lambda model, options: coached_by_role_and_seed(tiny, LINES)}
    monkeypatch.setattr(players, "KINDS", kinds)
    recipe = {"lr": 1e-5, "budget": 4096, "precision": "fp32", "lora_rank": 2}
    one, ray, struck = tmp_path / "one", tmp_path / "ray", list[str]()

    def strike(line: str) -> None:
        for said, kind in (("injector 2", "EngineActor"), ("step 1", "RankActor")):
            if line.startswith(said) and kind not in struck:
                struck.append(kind)
                kill_one(kind)

    separate = {"roles": "separate", "recipe": recipe}
    run_training(TrainOrder(config(shop, tiny, **separate), one), backend, Watcher())
    run_training(TrainOrder(config(shop, tiny, **separate, **CLUSTER), ray), backend, Watcher(strike))
    assert len(struck) == 2 and what_came(ray) == what_came(one)
    learned = [step for step in steps_of(ray) if "nothing" not in step]
    assert learned and {role for step in learned for role in step["steps"]} == {"injector", "solver"}
    for step in learned:
        for role in step["steps"]:
            assert abs(step["tokens"][role]["ratio"] - 1) < 1e-3
    assert apart(ray, one, tiny, "injector") < SAME and apart(ray, one, tiny, "solver") < SAME


@pytest.mark.slow
def test_a_frozen_opponent_plays_its_groups_on_ray(shop: Path, tiny: Path, backend: Backend, tmp_path: Path) -> None:
    """It has an engine of its own, which is killed, and keeps the weights that the run began with: its episodes are
    those of one process, and none of them is trained on."""
    one, ray, struck = tmp_path / "one", tmp_path / "ray", list[str]()

    def strike(line: str) -> None:
        if line.startswith("step 1") and not struck:
            struck.append(line)
            kill_one("EngineActor")

    fewer = {"injector": {"groups": 2, "members": 2, "strategy": "direct"}}
    opposed = {"opponents": {"share": 0.5}, **fewer}
    cluster = {"cluster": {**CLUSTER["cluster"], "engines": 1, "opponents": 1}}
    run_training(TrainOrder(config(shop, tiny, **opposed), one), backend, Watcher())
    run_training(TrainOrder(config(shop, tiny, **opposed, **cluster), ray), backend, Watcher(strike))
    assert struck and what_came(ray) == what_came(one)
    rollouts = [step["rollouts"] for step in steps_of(ray)]
    assert rollouts == [step["rollouts"] for step in steps_of(one)]
    assert sum(role["without_a_gradient"].get("opponent", 0) for step in rollouts for role in step.values()) > 0
    assert apart(ray, one, tiny) < SAME


def kill_one(kind: str) -> None:
    actors(kind)[0].kill()
