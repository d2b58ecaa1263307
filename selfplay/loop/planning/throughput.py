"""How long a step takes and which phase bounds it: tokens, then seconds of generation, tools, training, weight sync.

Generation: a decoding step reads the weights once and every sequence's cache, and takes two operations per parameter
and sequence; the slower of the two counts. Tokens that the policy did not sample are prefilled once (prefixes are
cached). Training: six operations per parameter and token (four with LoRA), and causal attention, 6 x layers x width x
length. With staleness the next step is played while this one is trained.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from selfplay.loop.planning.assumptions import GPUS
from selfplay.loop.planning.memory import (
    FULL,
    EngineMemory,
    engine_gpus,
    places,
    policies,
    trainer_on_gpu,
    trainer_ranks,
)
from selfplay.loop.planning.shapes import ModelShape

if TYPE_CHECKING:
    from selfplay.loop.config import TrainConfig

Assumed = Mapping[str, float]


@dataclass(frozen=True)
class Load:
    """The episodes and tokens of a step. `solver` and `tokens`: (least, expected, most)."""

    injector: int
    solver: tuple[int, int, int]
    tokens: tuple[int, int, int]
    length: float

    @property
    def episodes(self) -> int:
        return self.injector + self.solver[1]


@dataclass(frozen=True)
class Pace:
    """`phases`: seconds by phase; `step`: seconds of the whole step; `bound`: the longest phase; `sync_bytes`: size of
    the weights that engines take; `hours` and `gpu_hours`: of the whole run."""

    phases: Mapping[str, float]
    step: float
    bound: str
    sync_bytes: float
    hours: float
    gpu_hours: float

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "phases": dict(self.phases)}


def load_of(config: "TrainConfig", shape: ModelShape, assumed: Assumed) -> Load:
    """The load of a step: every new bug is attempted, and old ones until there are `solver.bugs`."""
    made = config.injector.groups * config.injector.members
    bugs, attempts = config.solver.bugs, config.solver.attempts
    new = (0, round(made * assumed["valid_share"]), made)
    solver = (bugs * attempts, max(bugs, new[1]) * attempts, max(bugs, new[2]) * attempts)
    context = config.play.engine.context or shape.context
    shares = (assumed["episode_low"], assumed["episode_share"], 1.0)
    low, expected, most = (int((made + s) * context * share) for s, share in zip(solver, shares, strict=True))
    return Load(made, solver, (low, expected, most), context * assumed["episode_share"])


def pace_of(
    config: "TrainConfig", shape: ModelShape, engine: EngineMemory, load: Load, gpus: int, assumed: Assumed
) -> Pace:
    """The seconds of a step with the expected number of tokens."""
    decoding = decoding_of(config, shape, engine, load, assumed)
    phases = {
        "generation": decoding.seconds(load, assumed),
        "tools": tool_seconds(config, load, assumed),
        "longest episode": longest_episode(config, load, decoding, assumed),
        "training": load.tokens[1] * training_flops(config, shape, load.length) / training_speed(config, assumed),
    }
    moved = float(
        FULL * shape.parameters * policies(config)
    )  # the precision in which `commands.training.update` writes or sends them
    phases["sync"] = moved / assumed["sync_network" if between_gpus(config) else "sync_file"]
    step = _step_seconds(config, phases)
    hours = config.steps * step / 3600
    bound = max(phases, key=lambda name: phases[name] / _waited(config, name))
    return Pace(phases, step, bound, moved, hours, hours * gpus)


def between_gpus(config: "TrainConfig") -> bool:
    """Whether weights go from GPUs to GPUs without a file."""
    cluster = config.cluster
    return cluster is not None and cluster.weights == "broadcast" and cluster.engine_gpus * cluster.trainer_gpus > 0


def _step_seconds(config: "TrainConfig", phases: Mapping[str, float]) -> float:
    """Seconds of a step. In one process on CPU, engine and sandboxes share the cores. Without staleness a step begins
    after the update of the one before; with it, `staleness` + 1 steps are played at once (`loop.pipeline`)."""
    generation, tools, training = (phases[name] for name in ("generation", "tools", "training"))
    same_cores = config.cluster is None and not engine_gpus(config)
    longest = phases["longest episode"] / _waited(config, "longest episode")
    play = max(generation + tools if same_cores else max(generation, tools), longest)
    learned = training + phases["sync"]
    return max(play, learned) if config.staleness else play + learned


def _waited(config: "TrainConfig", phase: str) -> int:
    """Over how many steps a phase may last: an episode may play on while its weights are `staleness` updates behind."""
    return config.staleness + 1 if phase == "longest episode" else 1


def training_flops(config: "TrainConfig", shape: ModelShape, length: float) -> float:
    """Operations per token; the embedding is looked up, not multiplied."""
    weights = shape.parameters - (0 if shape.tied else shape.vocabulary * shape.hidden)
    attention = 6 * shape.layers * shape.queries * length
    return (4 if config.recipe.lora_rank else 6) * weights + attention


def training_speed(config: "TrainConfig", assumed: Assumed) -> float:
    """Operations per second of all ranks together."""
    if trainer_on_gpu(config) and config.machine.gpu:
        return trainer_ranks(config) * GPUS[config.machine.gpu].flops * assumed["training_share"]
    return config.machine.cpus * assumed["training_core"]


@dataclass(frozen=True)
class Decoding:
    """`together`: sequences at once in an engine; `token`: seconds of a decoding step, which gives each of them a
    token; `prefill`: seconds per prefilled token."""

    engines: int
    together: float
    token: float
    prefill: float

    def seconds(self, load: Load, assumed: Assumed) -> float:
        """Seconds of all engines for a step's load: decoding the sampled tokens and prefilling the rest."""
        sampled = load.tokens[1] * assumed["sampled_share"]
        return (sampled * self.token / self.together + (load.tokens[1] - sampled) * self.prefill) / self.engines


def decoding_of(
    config: "TrainConfig", shape: ModelShape, engine: EngineMemory, load: Load, assumed: Assumed
) -> Decoding:
    """The speed of an engine with as many sequences as there are and its cache can hold."""
    engines = config.cluster.engines if config.cluster else 1
    hosts = config.cluster.hosts if config.cluster else 1
    playing = load.episodes * (config.staleness + 1)
    bandwidth, flops = _engine_speed(config, engines, assumed)
    together = max(1.0, min(hosts * places(config) / engines, playing / engines, engine.tokens / max(load.length, 1)))
    token_bytes = engine.parts["KV cache"] / max(engine.tokens, 1)
    read = engine.parts["weights"] + together * token_bytes * load.length / 2
    token = max(read / bandwidth, 2 * shape.parameters * together / flops)
    return Decoding(engines, together, token, 2 * shape.parameters / flops)


def longest_episode(config: "TrainConfig", load: Load, decoding: Decoding, assumed: Assumed) -> float:
    """Seconds of an episode that fills its context, at most its time limit. If both roles play, the sum of both: an
    attempt begins after its bug is planted."""
    sampled = load.length / assumed["episode_share"] * assumed["sampled_share"]
    turns = min(config.play.player.calls, sampled / assumed["turn_tokens"])
    seconds = sampled * decoding.token + turns * assumed["command_seconds"]
    roles = (load.injector > 0) + (load.solver[1] > 0)
    return roles * min(seconds, config.play.player.seconds)


def _engine_speed(config: "TrainConfig", engines: int, assumed: Assumed) -> tuple[float, float]:
    """An engine's bytes and operations per second; on CPU, engines share the cores."""
    each = engine_gpus(config)
    if each and config.machine.gpu:
        gpu = GPUS[config.machine.gpu]
        return each * gpu.bandwidth * assumed["bandwidth_share"], each * gpu.flops * assumed["prefill_share"]
    cores = config.machine.cpus / engines
    return cores * assumed["core_bandwidth"], cores * assumed["generation_core"]


def tool_seconds(config: "TrainConfig", load: Load, assumed: Assumed) -> float:
    """Seconds for episodes' commands, artifact checks and grading, on all cores for sandboxes."""
    cores = config.cluster.hosts * config.cluster.host_cpus if config.cluster else config.machine.cpus
    turns = min(config.play.player.calls, load.length * assumed["sampled_share"] / assumed["turn_tokens"])
    suite = assumed["suite_seconds"]
    judged = load.injector * assumed["runs_a_bug"] + load.solver[1] * assumed["runs_a_grade"]
    return (load.episodes * turns * assumed["command_seconds"] + judged * suite) / cores
