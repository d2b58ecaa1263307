"""The machines of a run and its actors on Ray, as its configuration names them. The plan reckons with both, and what
the machines cannot give is refused when the configuration is loaded; nothing else reads what the machines are."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from selfplay.loop.config_base import NonNegativeInt, Part, PositiveInt

if TYPE_CHECKING:
    from selfplay.loop.config import TrainConfig


class MachineConfig(Part):
    """`gpu`: the kind of all GPUs; None: there is none, or nobody said. A node has `gpus` of them, and `nodes` are
    there (None: as many as it takes). `memory`: GB of a node's main memory; None: nobody said. `cpus`: cores of the one
    machine of a run without a cluster. `assume`: other values for the plan's constants (`planning.assumptions`)."""

    gpu: Literal["a100", "h100", "h200"] | None = None
    gpus: PositiveInt = 8
    nodes: PositiveInt | None = None
    memory: Annotated[float, Field(gt=0)] | None = None
    cpus: PositiveInt = 2
    assume: Mapping[str, float] = {}


class Cluster(Part):
    """The Ray actors of a run. `engines` have `engine_gpus` GPUs each (tensor parallel; 0: on CPU). `hosts` play the
    episodes' sandboxes and graders, each with `host_cpus` cores and at most `host_episodes` episodes at once.
    `trainers` ranks share the model, each with `trainer_gpus` GPUs (0: on CPU). `weights`: how new ones go to the
    engines: as `files` in the run's folder, or as a `broadcast` over the network, where they are only written at the
    end and by checkpoints."""

    engines: PositiveInt = 1
    engine_gpus: NonNegativeInt = 0
    hosts: PositiveInt = 1
    host_cpus: PositiveInt = 1
    host_episodes: PositiveInt = 64
    trainers: PositiveInt = 1
    trainer_gpus: Annotated[int, Field(ge=0, le=1)] = 0
    weights: Literal["files", "broadcast"] = "files"

    @property
    def gpus(self) -> int:
        """All that it takes."""
        return self.engines * self.engine_gpus + self.trainers * self.trainer_gpus


def engines_a_node(config: "TrainConfig") -> int:
    """How many engines a node's GPUs hold; an engine's GPUs lie in one node."""
    cluster = config.cluster
    assert cluster is not None and cluster.engine_gpus
    return config.machine.gpus // cluster.engine_gpus


def nodes_needed(config: "TrainConfig") -> int:
    """How many nodes the GPUs of a cluster fill; trainer ranks take what engines leave free. 0 without GPUs."""
    cluster, each = config.cluster, config.machine.gpus
    if cluster is None or not cluster.gpus:
        return int(config.machine.gpu is not None)
    if not cluster.engine_gpus:
        return -(-cluster.gpus // each)
    of_engines = -(-cluster.engines // engines_a_node(config))
    free = of_engines * each - cluster.engines * cluster.engine_gpus
    return of_engines + max(0, -(-(cluster.trainers * cluster.trainer_gpus - free) // each))


def too_few_machines(config: "TrainConfig") -> list[tuple[bool, str]]:
    """(whether it is so, why it cannot work): what the machines cannot give."""
    cluster, machine = config.cluster, config.machine
    if cluster is None or not cluster.gpus:
        return []
    if cluster.engine_gpus > machine.gpus:
        why = f"cluster.engine_gpus is {cluster.engine_gpus}, and a node has {machine.gpus} (machine.gpus)"
        return [(True, f"{why}: an engine's GPUs lie in one node")]
    needed = nodes_needed(config)
    return [
        (
            machine.nodes is not None and needed > machine.nodes,
            f"{cluster.gpus} GPUs in engines of {cluster.engine_gpus} fill {needed} nodes of {machine.gpus}, and "
            f"machine.nodes is {machine.nodes}: give it fewer cluster.engines or cluster.trainers, or more nodes",
        )
    ]
