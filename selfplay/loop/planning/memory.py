"""Memory of a trainer rank and of an engine in bytes, by part, as `selfplay.train` and vLLM use it.

A trainer rank has (docs/training.md has this table for SmolLM2): masters, gradients and Adam's two moments in float32,
sharded by FSDP2; gathered weights; the activations that `train.activations` keeps of a row of `recipe.budget` tokens;
the recomputed layer in backward, with four tensors and two gradients of the MLP's width; the output head's chunk of
logits and its gradient.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from selfplay.loop.machine import nodes_needed
from selfplay.loop.planning.assumptions import GB, GPUS
from selfplay.loop.planning.shapes import ModelShape, PlanError
from selfplay.policies.transformers_model import TransformersOptions
from selfplay.policies.vllm_adapters import room_for

if TYPE_CHECKING:
    from selfplay.loop.config import TrainConfig

FULL, HALF = 4, 2
"""Bytes of a number in float32 and in bf16."""
CHUNK = 128
"""How many tokens' logits exist at once: `train.logprobs.CHUNK`."""
AT_HAND = 2
"""With offloading: layers whose inputs are on the GPU while the others' wait in main memory."""
SHARDED = ("weights", "gradients", "optimizer")
"""The parts that are sharded over the ranks."""


@dataclass(frozen=True)
class Memory:
    """`parts` in bytes; `room`: usable memory, None if unknown."""

    parts: Mapping[str, float]
    room: float | None = None

    @property
    def total(self) -> float:
        return sum(self.parts.values())

    @property
    def largest(self) -> str:
        """The largest part."""
        return max(self.parts, key=lambda name: self.parts[name])

    @property
    def fits(self) -> bool:
        return self.room is None or self.total <= self.room * (1 + 1e-9)  # for rounding: a cache may fill the rest


@dataclass(frozen=True)
class EngineMemory(Memory):
    """`tokens`: the KV cache's capacity; `episodes`: how many episodes of `context` tokens fit at once."""

    tokens: int = 0
    episodes: int = 0


def trainer_on_gpu(config: "TrainConfig") -> bool:
    return bool(config.cluster.trainer_gpus) if config.cluster else config.machine.gpu is not None


def engine_gpus(config: "TrainConfig") -> int:
    """GPUs of an engine; 0 on CPU. In one process, engine and trainer share one GPU."""
    return config.cluster.engine_gpus if config.cluster else int(config.machine.gpu is not None)


def gpu_memory(config: "TrainConfig", assumed: Mapping[str, float]) -> float:
    """A GPU's usable memory. Raises `PlanError` if its kind is not set."""
    if config.machine.gpu is None:
        raise PlanError("machine.gpu is not set", f"Say which GPUs there are: machine.gpu={', '.join(GPUS)}.")
    return GPUS[config.machine.gpu].memory * assumed["usable"]


def trainer_memory(config: "TrainConfig", shape: ModelShape, assumed: Mapping[str, float]) -> Memory:
    """Peak memory of one rank: in backward, once Adam's moments exist (after the first update)."""
    recipe, ranks, gpu = config.recipe, trainer_ranks(config), trainer_on_gpu(config)
    one = shape.adapters(recipe.lora_rank)
    adapters = one * policies(config)
    masters, learns = shape.parameters + adapters, adapters or shape.parameters
    used = FULL if recipe.precision == "fp32" else HALF
    a_layer, again = _kept_bytes(config, shape, used), layer_elements(shape, not gpu) + 2 * shape.inner
    parts = {
        "weights": FULL * masters / ranks,
        "gradients": FULL * (one or shape.parameters) / ranks,  # each role's are freed before the next
        "optimizer": 2 * FULL * learns / ranks,
        "weights in use": _in_use(shape, ranks, used),
        "activations": recipe.budget * (AT_HAND if recipe.offload else shape.layers) * a_layer,
        "layer in backward": recipe.budget * used * again,
        "logits": 2 * CHUNK * shape.vocabulary * FULL + shape.vocabulary * shape.hidden * FULL,
        "framework": assumed["framework_gpu" if gpu else "framework_cpu"],
    }
    return Memory(parts, gpu_memory(config, assumed) if gpu else None)


def policies(config: "TrainConfig") -> int:
    """How many policies are trained: one for both roles, or an adapter for each."""
    return 2 if config.roles == "separate" else 1


def offloaded_bytes(config: "TrainConfig", shape: ModelShape) -> float:
    """Bytes of a row that a rank keeps in main memory."""
    used = FULL if config.recipe.precision == "fp32" else HALF
    return float(config.recipe.offload * config.recipe.budget * shape.layers * _kept_bytes(config, shape, used))


def node_memory(
    config: "TrainConfig", shape: ModelShape, trainer: Memory, engine: "EngineMemory", assumed: Mapping[str, float]
) -> Memory:
    """Main memory of a node, or of the one machine: sandboxes; everything of engines and ranks on CPU; for ranks on
    GPUs, offloaded activations, or the whole model while each loads it."""
    ranks, engines, hosts, nodes = trainer_ranks(config), 1, 1, max(1, nodes_needed(config))
    if config.cluster:
        engines, hosts = config.cluster.every_engine, -(-config.cluster.hosts // nodes)
    a_rank = max(offloaded_bytes(config, shape), loading_bytes(config, shape))
    parts = {
        "sandboxes": assumed["sandbox"] * hosts * places(config),
        "engines": 0.0 if engine_gpus(config) else engine.total * engines,
        "trainer": a_rank * min(ranks, config.machine.gpus) if trainer_on_gpu(config) else trainer.total * ranks,
    }
    return Memory(parts, config.machine.memory and config.machine.memory * GB)


def places(config: "TrainConfig") -> int:
    """Episodes at once, on one host."""
    return config.cluster.host_episodes if config.cluster else config.play.player.episodes


def trainer_ranks(config: "TrainConfig") -> int:
    return config.cluster.trainers if config.cluster else 1


def loading_bytes(config: "TrainConfig", shape: ModelShape) -> float:
    """Bytes of the whole model in float32: `train.model` loads it on every rank's device before sharding."""
    return float(FULL * shape.parameters)


def _in_use(shape: ModelShape, ranks: int, used: int) -> float:
    """Sharded: two gathered layers, one layer's gradients, and the weights outside the layers, which FSDP2 keeps
    gathered. On one rank: autocast's copies of all weights in half precision."""
    if ranks == 1:
        return 0.0 if used == FULL else HALF * shape.parameters
    return 2 * used * shape.layer + FULL * shape.layer + used * shape.outside


def layer_elements(shape: ModelShape, spread: bool) -> int:
    """Elements per token that a layer makes: its input, attention's output and projection, queries, keys and values,
    the MLP's four tensors, norms and rotated heads; `spread`: keys and values repeated for every query head (on
    CPU)."""
    products = 2 * shape.hidden + 2 * shape.queries + 2 * shape.keys + 4 * shape.inner
    rotated = shape.queries + shape.keys + (2 * shape.queries if spread else 0)
    return products + 4 * shape.hidden + rotated


def kept_elements(config: "TrainConfig", shape: ModelShape) -> int:
    """Elements per token and layer that are kept for backward in addition to the layer's input."""
    if config.recipe.keep_activations:
        return layer_elements(shape, not trainer_on_gpu(config)) - shape.hidden
    if not config.recipe.keep_attention:
        return 0
    kept = [out for into, out in shape.products.values() if max(into, out) < shape.inner]
    return shape.queries + sum(kept)


def _kept_bytes(config: "TrainConfig", shape: ModelShape, used: int) -> int:
    """Bytes kept per token and layer. Under autocast the residual stream stays in float32; under FSDP2 it has the
    compute precision."""
    return (used if trainer_ranks(config) > 1 else FULL) * shape.hidden + used * kept_elements(config, shape)


def engine_memory(config: "TrainConfig", shape: ModelShape, assumed: Mapping[str, float]) -> EngineMemory:
    """Memory of one engine over all its GPUs: vLLM gives all free memory to the cache."""
    gpus, how = engine_gpus(config), config.play.engine
    context = how.context or shape.context
    number = FULL if how.dtype == "float32" else HALF
    weights = float(number * shape.parameters)
    heads = max(shape.kv_heads, gpus)  # each rank has at least one, so some are copies
    token = 2 * shape.layers * heads * shape.head * number
    adapters = float(number * _engine_adapters(config, shape))
    room: float | None = None
    if isinstance(how, TransformersOptions):
        cache = float(token * context * how.batch)
    elif gpus:
        room = gpus * how.memory * gpu_memory(config, assumed) / assumed["usable"]
        cache = max(0.0, room - weights - adapters - gpus * assumed["engine_gpu"])
    else:
        cache = float(how.cache_gb) * 2**30
    beside = gpus * assumed["engine_gpu"] if gpus else assumed["engine_cpu"]
    tokens = int(cache / token)
    parts = {"weights": weights, "KV cache": cache, "workspace": beside} | ({"adapters": adapters} if adapters else {})
    return EngineMemory(parts, room, tokens, tokens // context)


def _engine_adapters(config: "TrainConfig", shape: ModelShape) -> int:
    """Parameters of an engine's adapters; vLLM reserves room for one of its supported ranks."""
    if config.roles == "shared":
        return 0
    rank = config.recipe.lora_rank
    return policies(config) * shape.adapters(room_for(rank) if config.engine == "vllm" else rank)
