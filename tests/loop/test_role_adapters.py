"""An adapter for each role, as a setting: what cannot be, and what a plan makes of it."""

import pytest

from selfplay.loop.config import TrainConfig, load_config
from selfplay.loop.errors import TrainingError
from selfplay.loop.plan import Plan, plan_of
from selfplay.loop.planning.shapes import KNOWN
from selfplay.policies.vllm_adapters import lora_arguments
from selfplay.rollout.players import UnknownPolicy, player_named

SEPARATE = ("roles=separate", "recipe.lora_rank=16")


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (["roles=separate"], "recipe.lora_rank is 0: the separate adapters need a rank"),
        (
            [*SEPARATE, "cluster={trainers: 2}"],
            "roles is separate, whose adapters share their frozen weights on one rank: set cluster.trainers=1",
        ),
        (
            [*SEPARATE, "cluster={weights: broadcast}"],
            "roles is separate, whose adapters go to the engines as files: set cluster.weights=files",
        ),
        ([*SEPARATE, "injector.groups=0"], "only one role is trained: leave it shared"),
        ([*SEPARATE, "solver.bugs=0", "recipe.valid=consistency"], "only one role is trained: leave it shared"),
        ([*SEPARATE, "recipe.lora_rank=513"], "vLLM takes adapters of rank 512 at most; lower it, or take"),
        ([*SEPARATE, "play.lora_rank=8"], "play.lora_rank is set by recipe.lora_rank: leave it out"),
        (["play.lora_rank=8"], "play.lora_rank needs roles=separate"),
        (["roles=apart"], "roles: 'shared' or 'separate' is needed"),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(overrides: list[str], why: str) -> None:
    with pytest.raises(TrainingError) as refused:
        load_config("tiny_cpu", ["engine=vllm", *overrides])
    assert why in refused.value.message


def test_the_engine_is_opened_for_adapters_of_the_recipe_s_rank() -> None:
    config = load_config("tiny_cpu", [*SEPARATE, "recipe.lora_rank=20"])
    assert config.engine_options == config.options | {"lora_rank": "20"}
    assert lora_arguments(20) == {"enable_lora": True, "max_loras": 2, "max_lora_rank": 32}
    shared = load_config("tiny_cpu", ["recipe.lora_rank=16"])
    assert shared.engine_options == shared.options and lora_arguments(0) == {}
    assert shared.binding() != load_config("tiny_cpu", SEPARATE).binding()


def test_a_rank_that_vllm_does_not_take_is_refused_as_an_option() -> None:
    with pytest.raises(UnknownPolicy, match="the option lora_rank: at most 512 is needed"):
        player_named("vllm:m", {"lora_rank": "513"})


def planned(roles: str, engine: str = "vllm") -> Plan:
    model = "Qwen/Qwen3-1.7B"
    settings = {
        "source": "a", "model": model, "engine": engine, "roles": roles,
        "play": {"context": 8192} | ({"memory": 0.4} if engine == "vllm" else {}),
        "recipe": {"lora_rank": 20}, "machine": {"gpu": "h100"},
    }  # fmt: skip
    return plan_of(TrainConfig.model_validate(settings), KNOWN[model])


def test_a_plan_has_two_adapters_and_the_weights_once() -> None:
    """Of rank 20 for the trainer, one role's gradients at a time; of vLLM's next rank, 32, in half precision for the
    engine, which takes them from its cache."""
    shape, one, two = KNOWN["Qwen/Qwen3-1.7B"], planned("shared"), planned("separate")
    more = {name: two.trainer.parts[name] - one.trainer.parts[name] for name in one.trainer.parts}
    adapter = shape.adapters(20)
    assert {name: size for name, size in more.items() if size} == {"weights": 4 * adapter, "optimizer": 8 * adapter}
    assert two.engine.parts["adapters"] == 2 * 2 * shape.adapters(32) and "adapters" not in one.engine.parts
    assert one.engine.total == two.engine.total and one.engine.tokens > two.engine.tokens
    assert planned("separate", "transformers").engine.parts["adapters"] == 2 * 2 * adapter
    assert two.pace.sync_bytes == 2 * one.pace.sync_bytes
