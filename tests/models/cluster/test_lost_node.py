"""A training run on two nodes of one machine, each with a GPU in name only: one is lost in mid-step, with its
engine and its host, and another one comes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from coached import coached_by_seed
from models.cluster.test_train_on_ray import LINES, SAME, config, steps_of, what_came
from ray.cluster_utils import Cluster as Nodes
from watching import Watcher
from weights_apart import apart

from selfplay.commands.training.request import TrainOrder
from selfplay.commands.training.run import run_training
from selfplay.rollout import players
from selfplay.sandbox import Backend

NODE = {"num_cpus": 1, "num_gpus": 1}
CLUSTER = {"cluster": {"engines": 2, "engine_gpus": 1, "hosts": 2, "host_cpus": 1, "host_episodes": 2}}


@pytest.fixture(scope="module")
def nodes(importable: None) -> Iterator[Nodes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_AUTH_TOKEN", raising=False)
        patch.setenv("RAY_AUTH_MODE", "disabled")
        found = Nodes(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
        yield found
        found.shutdown()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_that_loses_a_node_is_the_run_of_one_process(
    nodes: Nodes, shop: Path, tiny: Path, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_by_seed(tiny, LINES)})
    one, out, lost = tmp_path / "one", tmp_path / "run", [nodes.add_node(**NODE)]
    run_training(TrainOrder(config(shop, tiny), one), backend, Watcher())

    def strike(line: str) -> None:
        if line.startswith("injector 2") and lost:
            nodes.remove_node(lost.pop())
            nodes.add_node(**NODE)

    run_training(TrainOrder(config(shop, tiny, **CLUSTER), out, address=nodes.address), backend, Watcher(strike))
    assert not lost, "a node was lost"
    assert what_came(out) == what_came(one)
    assert [step["rollouts"] for step in steps_of(out)] == [step["rollouts"] for step in steps_of(one)]
    assert apart(out, one, tiny) < SAME
