"""The combinations of settings that cannot work, each with its reason; those of machines and of single sections are in
their own files."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfplay.loop.config import TrainConfig

STALEST = 8
"""The most updates that weights may lack when a step begins to play."""


def impossible(config: "TrainConfig") -> list[tuple[bool, str]]:
    """(whether it applies, why it cannot work) for each impossible combination."""
    return [*_of_roles(config), *_of_cluster(config), *_of_play(config)]


def _of_roles(config: "TrainConfig") -> list[tuple[bool, str]]:
    recipe = config.recipe
    return [
        (
            config.injector.groups > 0 and config.injector.members == 1,
            "injector.members is 1: a group needs two members to compare",
        ),
        (
            config.solver.bugs > 0 and config.solver.attempts == 1,
            "solver.attempts is 1: a group needs two attempts to compare",
        ),
        (
            config.injector.groups == 0 and config.solver.bugs == 0,
            "neither role plays: raise injector.groups or solver.bugs",
        ),
        (
            config.injector.groups > 0 and config.solver.bugs == 0 and recipe.rules().needs_attempts,
            f"solver.bugs is 0, and the injector's reward {recipe.valid} needs attempts",
        ),
        (
            recipe.injector_share is not None and config.roles == "separate",
            "recipe.injector_share weighs roles that share weights: leave it out with roles: separate",
        ),
        (
            recipe.injector_share is not None and (config.injector.groups == 0 or config.solver.bugs == 0),
            "recipe.injector_share needs both roles: leave it out, or raise injector.groups or solver.bugs",
        ),
    ]  # fmt: skip


def _of_cluster(config: "TrainConfig") -> list[tuple[bool, str]]:
    recipe, play = config.recipe, config.play
    return [
        (
            config.staleness > recipe.stale_after and "stale" in recipe.filters,
            f"staleness is above recipe.stale_after ({recipe.stale_after}): some episodes would be filtered",
        ),
        (
            config.staleness > STALEST,
            f"staleness is above {STALEST}: SSR drops rollouts that are older",
        ),
        (
            config.staleness > 0 and config.cluster is None,
            "staleness needs a cluster: in one process the roles and the trainer take turns",
        ),
        (
            config.cluster is not None and play.tensor_parallel != max(1, config.cluster.engine_gpus),
            "play.tensor_parallel is not cluster.engine_gpus: an engine uses exactly the GPUs of its actor",
        ),
    ]  # fmt: skip


def _of_play(config: "TrainConfig") -> list[tuple[bool, str]]:
    play, recipe, context = config.play, config.recipe, config.play.engine.context
    return [
        (
            context is not None and play.player.max_tokens is not None and play.player.max_tokens >= context,
            f"play.max_tokens is not below play.context ({context}): a message would leave no room for its prompt",
        ),
        (
            play.player.top_p != 1,
            "play.top_p is not 1: the trainer's probabilities are those at 1, and every ratio would be wrong",
        ),
        (
            play.player.temperature != 1,
            "play.temperature is not 1: the trainer's probabilities are those at 1, and every ratio would be wrong",
        ),
        (
            recipe.too_long == "refuse" and context is None,
            "recipe.too_long is refuse and play.context is not set: a long episode would end the run",
        ),
        (
            recipe.too_long == "refuse" and context is not None and context > recipe.budget,
            f"play.context is above recipe.budget ({recipe.budget}): a long episode would end the run",
        ),
    ]  # fmt: skip
