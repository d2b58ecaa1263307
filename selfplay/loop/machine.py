"""The machines of a run and its actors on Ray, as its configuration names them. The plan uses both. A configuration
that asks for more than its machines is refused when it is loaded; nothing else reads `MachineConfig`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from selfplay.formatting import count
from selfplay.loop.config_base import ConfigSection, NonNegativeInt, PositiveInt

if TYPE_CHECKING:
    from selfplay.loop.config import TrainConfig


class MachineConfig(ConfigSection):
    """`gpu`: the kind of all GPUs; None: no GPU, or unknown. A node has `gpus` of them; there are `nodes` nodes (None:
    as many as needed). `memory`: GB of a node's main memory; None: unknown. `cpus`: cores of a node, or of the machine
    of a run without a cluster. `assume`: other values for the plan's constants (`planning.assumptions`)."""

    gpu: Literal["a100", "h100", "h200"] | None = None
    gpus: PositiveInt = 8
    nodes: PositiveInt | None = None
    memory: Annotated[float, Field(gt=0)] | None = None
    cpus: PositiveInt = 2
    assume: Mapping[str, float] = {}


class Cluster(ConfigSection):
    """The Ray actors of a run. `engines` have `engine_gpus` GPUs each (tensor parallel; 0: on CPU), and so have those
    of a frozen opponent (`opponents`). `hosts` run sandboxes and graders, each with `host_cpus` cores and at most
    `host_episodes` episodes at once. `trainers` ranks shard the model, each with `trainer_gpus` GPUs (0: on CPU).
    `weights`: how new weights reach the engines: as `files` in the run's folder, or by `broadcast` over the network,
    and then only checkpoints and the end of the run write files."""

    engines: PositiveInt = 1
    opponents: NonNegativeInt = 0
    engine_gpus: NonNegativeInt = 0
    hosts: PositiveInt = 1
    host_cpus: PositiveInt = 1
    host_episodes: PositiveInt = 64
    trainers: PositiveInt = 1
    trainer_gpus: Annotated[int, Field(ge=0, le=1)] = 0
    weights: Literal["files", "broadcast"] = "files"

    @property
    def gpus(self) -> int:
        """The GPUs of all its actors."""
        return self.every_engine * self.engine_gpus + self.trainers * self.trainer_gpus

    @property
    def every_engine(self) -> int:
        """The engines of the model in training and of its opponents."""
        return self.engines + self.opponents


def engines_a_node(config: "TrainConfig") -> int:
    """How many engines fit on a node; an engine's GPUs are all on one node."""
    cluster = config.cluster
    assert cluster is not None and cluster.engine_gpus
    return config.machine.gpus // cluster.engine_gpus


def nodes_needed(config: "TrainConfig") -> int:
    """How many nodes the cluster's GPUs fill; trainer ranks take the GPUs that engines leave free. 0 without GPUs."""
    cluster, each = config.cluster, config.machine.gpus
    if cluster is None or not cluster.gpus:
        return int(config.machine.gpu is not None)
    if not cluster.engine_gpus:
        return -(-cluster.gpus // each)
    of_engines = -(-cluster.every_engine // engines_a_node(config))
    free = of_engines * each - cluster.every_engine * cluster.engine_gpus
    return of_engines + max(0, -(-(cluster.trainers * cluster.trainer_gpus - free) // each))


def without_a_place(cluster: Cluster, nodes: Sequence[Mapping[str, float]]) -> str:
    """The actors that find no place on these nodes, in words; empty if all do. `nodes`: the cores (`CPU`) and GPUs
    (`GPU`) of each; a host's cores are on one node, and so are an engine's GPUs."""
    cores, gpus = ([node.get(what, 0) for node in nodes] for what in ("CPU", "GPU"))
    for what, wanted, each, there, has in (
        ("host", cluster.hosts, cluster.host_cpus, cores, "cores"),
        ("engine", cluster.every_engine, cluster.engine_gpus, gpus, "GPUs"),
    ):
        if each and (places := sum(int(one // each) for one in there)) < wanted:
            largest = f"the largest node has {max(there, default=0):g} {has}, all together {sum(there):g}"
            who = f"{count(wanted, what)} of {each} {has}, each on one node"
            return f"there is room for {places} of {who}: {largest}"
    if cluster.gpus > sum(gpus):
        return f"engines and trainers need {cluster.gpus} GPUs, and the cluster has {sum(gpus):g}"
    return ""


def too_few_machines(config: "TrainConfig") -> list[tuple[bool, str]]:
    """(whether it applies, why it cannot work) for each demand that the machines cannot meet."""
    cluster, machine = config.cluster, config.machine
    if cluster is not None and "cpus" in machine.model_fields_set and cluster.host_cpus > machine.cpus:
        why = f"cluster.host_cpus is {cluster.host_cpus}, and a node has {machine.cpus} cores (machine.cpus)"
        return [(True, f"{why}: a host is on one node")]
    if cluster is None or not cluster.gpus:
        return []
    if cluster.engine_gpus > machine.gpus:
        why = f"cluster.engine_gpus is {cluster.engine_gpus}, and a node has {machine.gpus} (machine.gpus)"
        return [(True, f"{why}: an engine's GPUs must be on one node")]
    needed = nodes_needed(config)
    return [
        (
            machine.nodes is not None and needed > machine.nodes,
            f"{cluster.gpus} GPUs in engines of {cluster.engine_gpus} fill {needed} nodes of {machine.gpus}, and "
            f"machine.nodes is {machine.nodes}: lower cluster.engines or cluster.trainers, or add nodes",
        )
    ]
