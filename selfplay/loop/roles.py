"""One policy of both roles, or an adapter for each: which runs can have the latter."""

from typing import TYPE_CHECKING, Literal

from selfplay.policies.vllm_adapters import RANKS

if TYPE_CHECKING:
    from selfplay.loop.config import TrainConfig

Roles = Literal["shared", "separate"]


def refused_roles(config: "TrainConfig") -> list[tuple[bool, str]]:
    """(whether it is so, why it cannot work) for each combination with an adapter for each role that cannot."""
    rank, most = config.recipe.lora_rank, RANKS[-1]
    if config.roles == "shared":
        return [("lora_rank" in config.play, "play.lora_rank is set by recipe.lora_rank, where roles is separate")]
    return [
        ("lora_rank" in config.play, "play.lora_rank is set by recipe.lora_rank: leave it out"),
        (rank == 0, "roles is separate and recipe.lora_rank is 0: what is separate are adapters, and they need a rank"),
        (
            config.cluster is not None,
            "roles is separate, which needs one process: a cluster's engines sample one model, and its ranks shard one",
        ),
        (
            config.injector.groups == 0 or config.solver.bugs == 0,
            "roles is separate, and one role alone is trained: leave it shared",
        ),
        (
            config.engine == "vllm" and rank > most,
            f"roles is separate and recipe.lora_rank is {rank}: vLLM takes adapters of at most {most}; lower it, "
            "or take engine: transformers",
        ),
    ]
