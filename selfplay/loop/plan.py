"""The plan of a training run: where its actors run, how much memory they take, how long it lasts. Starts nothing.

Pure: a configuration and a model's sizes in, numbers out. All numbers are estimates (`planning.assumptions` has every
constant with its source); docs/loop.md compares them with measurements.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from selfplay.loop.config import TrainConfig
from selfplay.loop.machine import nodes_needed
from selfplay.loop.planning import memory, throughput
from selfplay.loop.planning.assumptions import ASSUMPTIONS, GB, GPUS, assumed
from selfplay.loop.planning.memory import EngineMemory, Memory
from selfplay.loop.planning.shapes import ModelShape, PlanError

LARGER = "a GPU with more memory"
SHORTER = "a smaller recipe.budget (and play.context)"


@dataclass(frozen=True)
class Plan:
    """`node`: a node's main memory. `problems`: why it cannot run as planned, and what to change; empty if it fits.
    `assumed`: the constants."""

    placement: Mapping[str, Any]
    trainer: Memory
    engine: EngineMemory
    node: Memory
    load: throughput.Load
    pace: throughput.Pace
    problems: tuple[str, ...]
    assumed: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        load = self.load
        return {
            "placement": dict(self.placement),
            "trainer_rank": _memory(self.trainer),
            "node": _memory(self.node),
            "engine": {**_memory(self.engine), "tokens": self.engine.tokens, "episodes": self.engine.episodes},
            "step": {"injector": load.injector, "solver": load.solver, "tokens": load.tokens},
            "pace": self.pace.to_json(),
            "problems": list(self.problems),
            "assumptions": {
                name: {"value": value, "unit": ASSUMPTIONS[name].unit, "source": ASSUMPTIONS[name].source}
                for name, value in self.assumed.items()
            },
        }  # fmt: skip


def plan_of(config: TrainConfig, shape: ModelShape) -> Plan:
    """The plan of a run. Raises `PlanError` for settings that the model makes impossible, and if machine.gpu is
    missing."""
    refuse_for_model(config, shape)
    values = assumed(config.machine.assume)
    trainer, engine = memory.trainer_memory(config, shape, values), memory.engine_memory(config, shape, values)
    load = throughput.load_of(config, shape, values)
    placement = _placement(config)
    found = throughput.pace_of(config, shape, engine, load, placement["gpus"], values)
    node = memory.node_memory(config, shape, trainer, engine, values)
    problems = _problems(config, shape, trainer, engine, node)
    return Plan(placement, trainer, engine, node, load, found, tuple(problems), values)


def refuse_for_model(config: TrainConfig, shape: ModelShape) -> None:
    """Raises `PlanError` for settings that the model makes impossible."""
    context = config.play.engine.context or shape.context
    gpus = config.cluster.engine_gpus if config.cluster else 0
    for wrong, why, what in (
        (
            context > shape.context,
            f"play.context is {context}, the context of {config.model} is {shape.context}",
            "Lower play.context, or take a model with a longer context.",
        ),
        (
            shape.window is not None and min(context, config.recipe.budget) > shape.window,
            f"{config.model} attends to {shape.window} tokens, and sequences may have {context}",
            "The trainer attends to whole sequences: lower play.context, or take a model without a window.",
        ),
        (
            gpus > 1 and shape.heads % gpus > 0,
            f"cluster.engine_gpus is {gpus}, and {config.model} has {shape.heads} attention heads",
            "An engine's GPUs share the heads evenly: take a divisor.",
        ),
    ):
        if wrong:
            raise PlanError(why, what)


def _placement(config: TrainConfig) -> dict[str, Any]:
    """Where each actor runs."""
    cluster, machine = config.cluster, config.machine
    kind = GPUS[machine.gpu].source if machine.gpu else ""
    if cluster is None:
        gpus = int(machine.gpu is not None)
        where = {"engines": 1, "opponents": 0, "engine_gpus": gpus, "trainers": 1, "trainer_gpus": gpus, "hosts": 1}
        return {**where, "host_cpus": machine.cpus, "one_process": True, "gpus": gpus, "nodes": gpus, "gpu": kind}
    where = {
        name: getattr(cluster, name)
        for name in ("engines", "opponents", "engine_gpus", "trainers", "trainer_gpus", "hosts")
    }
    return {
        **where, "host_cpus": cluster.host_cpus, "one_process": False, "gpus": cluster.gpus,
        "nodes": nodes_needed(config), "gpu": kind,
    }  # fmt: skip


def _problems(config: TrainConfig, shape: ModelShape, trainer: Memory, engine: EngineMemory, node: Memory) -> list[str]:
    """What does not fit, its largest part, and what to change."""
    found = []
    if not node.fits:
        smaller = "recipe.budget" if config.recipe.offload else "model"
        change = {
            "sandboxes": "fewer episodes at once", "engines": "fewer engines",
            "trainer": f"fewer ranks on a node, or a smaller {smaller}",
        }  # fmt: skip
        part = node.largest
        found.append(f"a node's main memory {_over(node)}; the largest part is {part}: {change[part]}")
    if not trainer.fits:
        found.append(f"a trainer rank {_over(trainer)}; the largest part is {_change(config, trainer.largest)}")
    loading = memory.loading_bytes(config, shape)
    if trainer.room is not None and loading > trainer.room:
        said = f"a trainer rank loads the whole model in float32 before sharding it, {loading / GB:.0f} GB"
        found.append(f"{said} of {trainer.room / GB:.0f}: a larger GPU, or a smaller model")
    if engine.episodes < 1 or not engine.fits:
        said = f"an engine's KV cache holds {engine.tokens} tokens, less than one episode of play.context"
        how = "more cluster.engine_gpus, a lower play.context, or a higher play.memory"
        found.append(f"{said}: {how if engine.room is not None else 'a lower play.context, or play.cache_gb'}")
    if config.cluster is None and trainer.room is not None and engine.room is not None:
        both = trainer.total + engine.room
        if both > trainer.room:
            said = f"engine and trainer share one GPU and take {both / GB:.0f} GB of {trainer.room / GB:.0f}"
            how = (
                f"a lower play.memory (the engine takes {engine.room / GB:.0f} GB); of the trainer the largest part is"
            )
            found.append(f"{said}: {how} {_change(config, trainer.largest)}")
    return found


def _change(config: TrainConfig, part: str) -> str:
    """A part of a trainer rank's memory, and what reduces it."""
    how = [LARGER]
    if part in memory.SHARDED:
        how = ["more cluster.trainers"] * (config.cluster is not None) + how
        if part != "weights" and not config.recipe.lora_rank:
            how = ["recipe.lora_rank", *how]
    if part in ("activations", "layer in backward"):
        how = [SHORTER, *how]
    if part == "activations" and config.recipe.keep_activations:
        how = ["recipe.keep_activations=false", *how]
    elif part == "activations" and config.recipe.keep_attention:
        how = ["recipe.keep_attention=false", *how]
    elif part == "activations" and not config.recipe.offload:
        how = ["recipe.offload=true", *how]
    return f"{part}: {', or '.join(how)}"


def _over(found: Memory) -> str:
    assert found.room is not None
    return f"takes {found.total / GB:.0f} GB of {found.room / GB:.0f}"


def _memory(found: Memory) -> dict[str, Any]:
    return {"parts": dict(found.parts), "total": found.total, "room": found.room, "fits": found.fits}
