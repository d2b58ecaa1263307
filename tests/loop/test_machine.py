"""What finds no place on a cluster is told before Ray waits for it for ever."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from selfplay.loop.config import load_config
from selfplay.loop.machine import Cluster, without_a_place

CORES, GPUS = [{"CPU": 32.0}] * 16, [{"GPU": 8.0}] * 8


@pytest.mark.parametrize(("cluster", "why"), [
    (Cluster(hosts=16, host_cpus=32), ""),
    (Cluster(hosts=17, host_cpus=32), "room for 16 of 17 hosts .*: the largest node has 32 cores, all together 512"),
    (Cluster(hosts=8, host_cpus=40), "room for 0 of 8 hosts of 40 cores, each on one node: the largest .* 32 cores,"),
    (Cluster(engines=16, engine_gpus=4), ""),
    (Cluster(engines=9, engine_gpus=5), "room for 8 of 9 engines of 5 GPUs, .*, all together 64"),
    (Cluster(engines=24, engine_gpus=2, trainers=16, trainer_gpus=1), ""),
    (Cluster(engines=24, engine_gpus=2, trainers=17, trainer_gpus=1), "need 65 GPUs, and the cluster has 64"),
    (Cluster(engines=2, opponents=31, engine_gpus=2), "33 engines of 2 GPUs"),
])  # fmt: skip
def test_what_finds_no_place_is_named(cluster: Cluster, why: str) -> None:
    """A sum of cores says little: a host is on one node, as an engine's GPUs are."""
    said = without_a_place(cluster, [*CORES, *GPUS, {}])
    assert re.search(why, said) if why else not said, said


def test_the_manifest_has_room_for_the_run_that_it_names() -> None:
    text = Path(__file__).parents[2].joinpath("docs", "kuberay.yaml").read_text()
    assert "selfplay train cluster_64 " in text
    spec = yaml.safe_load(text)["spec"]
    groups = [(1, spec["headGroupSpec"]), *((group["replicas"], group) for group in spec["workerGroupSpecs"])]
    nodes = [resources(group) for replicas, group in groups for _ in range(replicas)]
    cluster = load_config("cluster_64").cluster
    assert cluster is not None and without_a_place(cluster, nodes) == ""
    assert without_a_place(cluster, nodes[:-1]), "it has no node too many"


def resources(group: Mapping[str, Any]) -> dict[str, float]:
    """A pod's resources as KubeRay tells them to Ray: `num-cpus` where it is given, else the limits."""
    (container,) = group["template"]["spec"]["containers"]
    limits, started = container["resources"]["limits"], group["rayStartParams"]
    return {"CPU": float(started.get("num-cpus", limits.get("cpu", 0))), "GPU": float(limits.get("nvidia.com/gpu", 0))}
