"""Which runs can train a separate adapter for each role instead of one shared policy."""

from typing import TYPE_CHECKING, Literal

from selfplay.policies.vllm_adapters import RANKS

if TYPE_CHECKING:
    from selfplay.loop.config import TrainConfig

Roles = Literal["shared", "separate"]


def refused_roles(config: "TrainConfig") -> list[tuple[bool, str]]:
    """(whether it applies, why it cannot work) for each impossible combination with separate roles."""
    rank, most = config.recipe.lora_rank, RANKS[-1]
    if config.roles == "shared":
        return [
            ("lora_rank" in config.play.written, "play.lora_rank needs roles=separate, where recipe.lora_rank sets it")
        ]
    return [
        ("lora_rank" in config.play.written, "play.lora_rank is set by recipe.lora_rank: leave it out"),
        (rank == 0, "roles is separate and recipe.lora_rank is 0: the separate adapters need a rank"),
        (
            config.cluster is not None and config.cluster.trainers > 1,
            "roles is separate, whose adapters share their frozen weights on one rank: set cluster.trainers=1",
        ),
        (
            config.cluster is not None and config.cluster.weights == "broadcast",
            "roles is separate, whose adapters go to the engines as files: set cluster.weights=files",
        ),
        (
            config.injector.groups == 0 or config.solver.bugs == 0,
            "roles is separate, but only one role is trained: leave it shared",
        ),
        (
            config.engine == "vllm" and rank > most,
            f"roles is separate and recipe.lora_rank is {rank}: vLLM takes adapters of rank {most} at most; lower it, "
            "or take engine: transformers",
        ),
    ]
